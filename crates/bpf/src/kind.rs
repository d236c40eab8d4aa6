//! `{ kind = "bpf", object = "mine.bpf.o" }` in a scenario.

use std::any::Any;
use std::fmt;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fairhaul_cc::{Own, OwnKind, OwnMaker, OwnValue, OwnValues, digest};

use crate::controller::{BpfController, NEEDS_ECN};
use crate::program::{Program, Table};
use crate::socket::Socket;
use crate::table::choose;

/// The largest object that is read, bytes.
const LARGEST: u64 = 16 << 20;
/// How many variables an error lists.
const MOST_NAMES: usize = 20;
const OBJECT: &str = "object";
const NAME: &str = "controller";

/// Controllers in eBPF objects: `object` names the file, `controller` the one that is meant if it has several, and
/// every other key is a variable of the object.
#[derive(Clone, Debug)]
pub struct BpfKind {
    /// The folder that the paths of objects begin from.
    pub folder: PathBuf,
    /// The object, where the user has named it elsewhere.
    pub object: Option<PathBuf>,
}

impl OwnKind for BpfKind {
    fn with(&self, values: &OwnValues) -> Result<Arc<dyn OwnMaker>, String> {
        let text = |key: &str| match values.iter().find(|(name, _)| name == key) {
            Some((_, OwnValue::Text(text))) => Ok(Some(text.as_str())),
            Some(_) => Err(format!("`{key}`: wanted a text")),
            None => Ok(None),
        };
        let file = match (&self.object, text(OBJECT)?) {
            (Some(_), Some(_)) => return Err(format!("`{OBJECT}`: the file is named already")),
            (Some(file), None) => file.clone(),
            (None, Some(file)) => self.folder.join(file),
            (None, None) => return Err(format!("`{OBJECT}` is missing: the file, such as \"mine.bpf.o\"")),
        };
        let variables = values.iter().filter(|(name, _)| name != OBJECT && name != NAME);
        let variables: Vec<_> = variables.map(whole).collect::<Result<_, String>>()?;
        let maker = BpfMaker::load(&file, text(NAME)?, variables);
        maker
            .map(|maker| Arc::new(maker) as Arc<dyn OwnMaker>)
            .map_err(|error| format!("{}: {error}", file.display()))
    }
}

/// The value of a variable.
fn whole((name, value): &(String, OwnValue)) -> Result<(String, u64), String> {
    match value {
        OwnValue::Whole(number) => Ok((name.clone(), *number as u64)),
        OwnValue::Switch(switch) => Ok((name.clone(), u64::from(*switch))),
        _ => Err(format!("`{name}`: wanted a whole number, because variables of eBPF are whole numbers")),
    }
}

/// Makes the controllers of a flow from an object.
pub struct BpfMaker {
    /// The bytes of the object.
    pub object: Vec<u8>,
    /// The name that the controller has in the kernel.
    pub controller: String,
    /// Variables of the object with other values than its own.
    pub variables: Vec<(String, u64)>,
    program: Arc<Program>,
    table: Table,
    /// A number that differs where the object differs.
    digest: u64,
    /// What each of its controllers takes, bytes.
    memory: u64,
}

impl BpfMaker {
    /// The maker, if it is one of these.
    pub fn of(maker: &dyn OwnMaker) -> Option<&BpfMaker> {
        (maker as &dyn Any).downcast_ref()
    }

    fn load(file: &Path, name: Option<&str>, variables: Vec<(String, u64)>) -> Result<BpfMaker, String> {
        let bytes = read(file)?;
        let program = Program::load(&bytes).map_err(|error| error.to_string())?;
        let controller =
            choose(&program.entries, name).map_err(|error| error.to_string())?.controller.clone();
        let table = program.tables[&controller].clone();
        for (name, value) in &variables {
            let Some((_, bytes)) = program.variables.get(name) else {
                let names: Vec<&str> = program.variables.keys().map(String::as_str).collect();
                let more = names.len().saturating_sub(MOST_NAMES);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                let names = names[..names.len().min(MOST_NAMES)].join(", ");
                return Err(format!("the object has no variable `{name}`; it has {names}{more}"));
            };
            if *bytes < 8 && value >> (8 * bytes) != 0 {
                return Err(format!("`{name}` = {value}: the variable has {bytes} bytes"));
            }
        }
        let (digest, program) = (digest(&bytes), Arc::new(program));
        let memory = Socket::of(&program, table.clone(), 0).bytes() as u64;
        Ok(BpfMaker { object: bytes, controller, variables, program, table, digest, memory })
    }
}

/// The bytes of an object file.
fn read(file: &Path) -> Result<Vec<u8>, String> {
    // A pipe or a device might never end.
    if !fs::metadata(file).map_err(|error| error.to_string())?.is_file() {
        return Err("not a regular file".into());
    }
    let mut bytes = Vec::new();
    let opened = fs::File::open(file).map_err(|error| error.to_string())?;
    opened.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > LARGEST { Err("the file has more than 16 MB".into()) } else { Ok(bytes) }
}

impl fmt::Debug for BpfMaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bpf {:016x} {} {:?}", self.digest, self.controller, self.variables)
    }
}

impl OwnMaker for BpfMaker {
    fn memory(&self) -> u64 {
        self.memory
    }

    fn build(&self, stream: u64) -> Box<dyn Own> {
        let mut socket = Socket::of(&self.program, self.table.clone(), stream);
        for (name, value) in &self.variables {
            socket.set_variable(name, *value).expect("the variables were looked up");
        }
        Box::new(BpfController::new(socket, self.table.flags & NEEDS_ECN != 0, self.program.paces))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scenario may be another user's, and reading a device or a whole disk would not end.
    #[test]
    #[cfg(unix)]
    fn an_object_of_a_scenario_is_a_regular_file_of_bounded_size() {
        assert_eq!(read(Path::new("/dev/zero")), Err("not a regular file".into()));
        let huge = std::env::temp_dir().join(format!("fairhaul-huge-{}.bpf.o", std::process::id()));
        fs::File::create(&huge).and_then(|file| file.set_len(1 << 40)).expect("the disk has sparse files");
        assert_eq!(read(&huge), Err("the file has more than 16 MB".into()));
        fs::remove_file(&huge).expect("it is there");
    }
}
