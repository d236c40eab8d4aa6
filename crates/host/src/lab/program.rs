//! The programs of a scenario's flows: what a user allows, as whom they run, where they are, and what their environment says.

use std::env;
use std::fs::{self, Permissions};
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use fairhaul_experiment::{ProgramPair, Scenario};
use nix::mount::{MsFlags, mount};
use nix::unistd::{geteuid, getgid, getuid};
use serde::{Deserialize, Serialize};

use super::simulated_path::SimulatedPath;
use crate::error::{Context, Error, Result};

/// The port in the environment of programs; each flow has addresses of its own.
pub const PORT: u16 = 4433;
/// Where programs are looked for that are named without a path, and their `PATH`.
const SEARCHED: &str = "/usr/local/bin:/usr/bin:/bin";
/// Where the folder for the files of programs is in the program of the engine `linux`, whose file system is read-only.
const MOUNTED: &str = "/run/programs";
/// The folder for temporary files there.
const TEMPORARY: &str = "/run/tmp";
/// The file for the keys of its connections.
const KEYS: &str = "keys.log";

/// What the user allows: without it, a scenario with programs is refused.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AllowedPrograms {
    /// The folder of the scenario, where the paths of programs begin.
    folder: PathBuf,
    /// An existing folder for what programs write, and for captures of their packets.
    #[serde(default)]
    pub kept: Option<PathBuf>,
    /// The user as whom they run; none: that of this process.
    #[serde(default)]
    user: Option<User>,
}

/// The numbers of a user and a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct User {
    /// The user.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

/// One end of a flow, ready to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// How messages call it: its first word and its end.
    pub name: String,
    /// The words of its command line, of which the first is its path.
    pub command: Vec<PathBuf>,
    /// The folder in which it starts.
    pub folder: PathBuf,
    /// Its whole environment.
    pub environment: Vec<(String, String)>,
    /// The file for what it prints, if that is kept.
    pub output: Option<PathBuf>,
    /// As whom it runs; none: as the user of this process.
    pub user: Option<User>,
}

/// The two ends of a flow and their addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Programs {
    /// The end that sends.
    pub sender: Program,
    /// The end that receives.
    pub receiver: Program,
    /// The address of the receiver.
    pub listens: Ipv4Addr,
}

impl AllowedPrograms {
    /// The same with the user as whom they run, before this process enters a namespace where it is root. The program of the
    /// engine `linux` gets it with the request.
    ///
    /// # Errors
    /// A refusal if they would run as root.
    pub fn resolved(&self) -> Result<AllowedPrograms> {
        let user = if SimulatedPath::is_here() { self.user } else { caller()? };
        Ok(AllowedPrograms { user, ..self.clone() })
    }

    /// The same for the program of the engine `linux`, where every user has a number.
    ///
    /// # Errors
    /// A refusal if they would run as root.
    pub fn for_simulation(&self) -> Result<AllowedPrograms> {
        let itself = User { uid: getuid().as_raw(), gid: getgid().as_raw() };
        Ok(AllowedPrograms { user: Some(caller()?.unwrap_or(itself)), ..self.clone() })
    }

    /// Makes the folders for the files of programs, before this process gives up its rights.
    ///
    /// # Errors
    /// A failure of the file system.
    pub fn make_folders(&self, scenario: &Scenario) -> Result<()> {
        if SimulatedPath::is_here() {
            fs::create_dir_all(TEMPORARY).when(TEMPORARY)?;
            fs::set_permissions(TEMPORARY, Permissions::from_mode(0o1777)).when(TEMPORARY)?;
        }
        let Some(kept) = &self.kept else { return Ok(()) };
        if SimulatedPath::is_here() {
            fs::create_dir_all(MOUNTED).when(MOUNTED)?;
            let outside = kept.as_path();
            mount(Some("none"), MOUNTED, Some("hostfs"), MsFlags::empty(), Some(outside))
                .map_err(io::Error::from)
                .when(outside.display())?;
        }
        for flow in scenario.flows.iter().filter(|flow| flow.program.is_some()) {
            for end in [SENDER, RECEIVER] {
                let folder = root(kept).join(&flow.name).join(end);
                fs::create_dir_all(&folder).when(folder.display())?;
                if let Some(User { uid, gid }) = self.user {
                    chown(&folder, Some(uid), Some(gid)).when(folder.display())?;
                }
            }
        }
        Ok(())
    }

    /// The programs of a flow, whose sender and receiver have these addresses.
    ///
    /// # Errors
    /// A refusal if a program is missing, or would run as root.
    pub fn programs(&self, flow: &str, pair: &ProgramPair, addresses: [Ipv4Addr; 2]) -> Result<Programs> {
        let [from, to] = addresses;
        Ok(Programs {
            sender: self.program(flow, SENDER, &pair.sender, [from, to])?,
            receiver: self.program(flow, RECEIVER, &pair.receiver, [to, from])?,
            listens: to,
        })
    }

    fn program(
        &self,
        flow: &str,
        end: &str,
        words: &[String],
        [own, peer]: [Ipv4Addr; 2],
    ) -> Result<Program> {
        let name = format!("flow \"{flow}\": the program {} ({end})", words[0]);
        let mut environment = vec![
            ("FAIRHAUL_ADDRESS".to_owned(), own.to_string()),
            ("FAIRHAUL_PEER".into(), peer.to_string()),
            ("FAIRHAUL_PORT".into(), PORT.to_string()),
        ];
        let filled = words[1..].iter().map(|word| {
            let fill =
                |word: String, (name, value): &(String, String)| word.replace(&format!("${name}"), value);
            PathBuf::from(environment.iter().fold(word.clone(), fill))
        });
        let command = [self.path_of(&words[0], &name)?].into_iter().chain(filled).collect();
        environment.push(("FAIRHAUL_FLOW".into(), flow.into()));
        environment.push(("PATH".into(), SEARCHED.into()));
        if SimulatedPath::is_here() {
            environment.push(("TMPDIR".into(), TEMPORARY.into()));
        }
        let folder = self.folder_of(flow, end);
        if let Some(folder) = &folder {
            environment.push(("QLOGDIR".into(), folder.display().to_string()));
            environment.push(("SSLKEYLOGFILE".into(), folder.join(KEYS).display().to_string()));
        }
        // Beside that folder, which is the program's.
        let output = folder.map(|folder| folder.with_extension("txt"));
        Ok(Program { name, command, folder: self.folder.clone(), environment, output, user: self.user })
    }

    /// The flows whose packets are captured, each with the folder for that, as the machine knows it.
    pub fn captures(&self, scenario: &Scenario) -> Vec<(u32, PathBuf)> {
        let flows = (0..).zip(&scenario.flows).filter(|(_, flow)| flow.program.is_some());
        let kept = flows.filter_map(|(number, flow)| Some((number, self.kept.as_ref()?.join(&flow.name))));
        kept.collect()
    }

    /// The folder for the files of one end of a flow, as this process knows it.
    fn folder_of(&self, flow: &str, end: &str) -> Option<PathBuf> {
        Some(root(self.kept.as_ref()?).join(flow).join(end))
    }

    /// The path of a program.
    fn path_of(&self, word: &str, name: &str) -> Result<PathBuf> {
        let refuse = |reason: String| Err(Error::refused(format!("{name} cannot be started: {reason}")));
        let paths: Vec<PathBuf> = if word.contains('/') {
            vec![self.folder.join(word).components().collect()]
        } else {
            env::split_paths(SEARCHED).map(|folder| folder.join(word)).collect()
        };
        let Some((path, found)) = paths.iter().find_map(|path| Some((path, fs::metadata(path).ok()?))) else {
            let places = if word.contains('/') { self.folder.display().to_string() } else { SEARCHED.into() };
            return refuse(format!("there is no such file; looked in {places}"));
        };
        if !found.is_file() || found.permissions().mode() & 0o111 == 0 {
            return refuse(format!("{} is not an executable file (chmod +x)", path.display()));
        }
        Ok(path.clone())
    }
}

/// The ends of a flow.
const SENDER: &str = "sender";
/// See [`SENDER`].
const RECEIVER: &str = "receiver";

/// The folder for files as this process knows it; `kept`: as the machine does.
fn root(kept: &Path) -> &Path {
    if SimulatedPath::is_here() { Path::new(MOUNTED) } else { kept }
}

/// Refuses programs that are not allowed; gives what is allowed for the flows that have programs.
///
/// # Errors
/// A refusal if there are programs, and the request does not allow them.
pub fn allowed<'a>(
    scenario: &Scenario,
    given: Option<&'a AllowedPrograms>,
) -> Result<Option<&'a AllowedPrograms>> {
    match scenario.flows.iter().find(|flow| flow.program.is_some()) {
        Some(flow) if given.is_none() => Err(Error::refused(format!(
            "flow \"{}\": the scenario starts programs on this machine; to allow it, add --allow-programs",
            flow.name
        ))),
        Some(_) => Ok(given),
        None => Ok(None),
    }
}

/// The user who called, if that is not the user of this process: under `sudo` the one whom it names.
///
/// # Errors
/// A refusal if that is root.
fn caller() -> Result<Option<User>> {
    user_of(geteuid().is_root() || getuid().is_root(), |name| env::var(name).ok()?.parse().ok())
}

fn user_of(is_root: bool, number: impl Fn(&str) -> Option<u32>) -> Result<Option<User>> {
    if !is_root {
        return Ok(None);
    }
    match (number("SUDO_UID"), number("SUDO_GID")) {
        (Some(uid), Some(gid)) if uid != 0 && gid != 0 => Ok(Some(User { uid, gid })),
        _ => Err(Error::refused(
            "programs of a scenario never run as root: run the command as an ordinary user, or by sudo from the account of \
             one",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairhaul_experiment::read;

    #[test]
    fn programs_run_as_the_user_who_called_and_never_as_root() {
        assert_eq!(user_of(false, |_| Some(5)), Ok(None));
        let ids = |uid, gid| move |name: &str| if name == "SUDO_UID" { uid } else { gid };
        assert_eq!(user_of(true, ids(Some(7), Some(8))), Ok(Some(User { uid: 7, gid: 8 })));
        for (uid, gid) in [(None, None), (Some(0), Some(8)), (Some(7), Some(0)), (Some(7), None)] {
            let refusal = user_of(true, ids(uid, gid)).expect_err("it would be root").to_string();
            assert!(refusal.contains("never run as root"), "{refusal}");
        }
    }

    const PAIR: &str = "duration = \"1 s\"\n[bottleneck]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
        queue = { kind = \"droptail\", capacity = \"20 ms\" }\n[[flow]]\nname = \"F\"\n\
        program = { sender = [\"env\", \"$FAIRHAUL_PEER:$FAIRHAUL_PORT\"], receiver = \"env -i\" }\n";

    #[test]
    fn programs_need_to_be_allowed() {
        let scenario = read(PAIR, "test", &[]).expect("it is a scenario").base;
        let given = allowed_in("/");
        assert!(allowed(&scenario, Some(&given)).is_ok_and(|found| found.is_some()));
        let refusal = allowed(&scenario, None).expect_err("nothing allows it").to_string();
        assert!(refusal.starts_with("flow \"F\"") && refusal.ends_with("--allow-programs"), "{refusal}");
    }

    #[test]
    fn arguments_have_addresses_in_the_place_of_variables() {
        let scenario = read(PAIR, "test", &[]).expect("it is a scenario").base;
        let pair = scenario.flows[0].program.as_ref().expect("it has programs");
        let addresses = [Ipv4Addr::new(10, 16, 0, 0), Ipv4Addr::new(10, 0, 0, 0)];
        let user = Some(User { uid: 7, gid: 8 });
        let given = AllowedPrograms { user, ..allowed_in("/") };
        let sender = given.program("F", SENDER, &pair.sender, addresses).expect("it is there");
        assert_eq!(sender.command[1..], [PathBuf::from("10.0.0.0:4433")]);
        assert_eq!((sender.user, sender.output), (user, None));
        let kept = AllowedPrograms { kept: Some("/kept".into()), ..given };
        let receiver = kept.program("F", RECEIVER, &pair.receiver, addresses).expect("it is there");
        assert_eq!(receiver.command[1..], [PathBuf::from("-i")]);
        assert_eq!(receiver.output, Some("/kept/F/receiver.txt".into()));
        assert!(receiver.environment.contains(&("QLOGDIR".into(), "/kept/F/receiver".into())));
    }

    fn allowed_in(folder: &str) -> AllowedPrograms {
        AllowedPrograms { folder: folder.into(), kept: None, user: None }
    }

    #[test]
    fn a_path_begins_at_the_folder_of_the_scenario_and_a_name_is_looked_for() {
        let path = |folder, word| allowed_in(folder).path_of(word, "P").map_err(|error| error.to_string());
        assert_eq!(path("/usr", "bin/env"), Ok("/usr/bin/env".into()));
        assert!(path("/nowhere", "env").is_ok_and(|path| path.ends_with("bin/env")));
        let missing = path("/usr", "./no-such-program").expect_err("it is not there");
        assert_eq!(missing, "P cannot be started: there is no such file; looked in /usr");
        let folder = path("/usr", "./bin").expect_err("it is a folder");
        assert!(folder.ends_with("is not an executable file (chmod +x)"), "{folder}");
    }
}
