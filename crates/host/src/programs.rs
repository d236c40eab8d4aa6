//! Programs of the system that this program starts as root. They are found in fixed folders, never by `PATH`, which
//! the user who calls this program may have set.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folders of the system's programs, in the order of the search.
const FOLDERS: [&str; 5] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin", "/run/current-system/sw/bin"];

/// The path of a program, which `package` contains in Debian.
pub fn path_of(name: &str, package: &str) -> io::Result<PathBuf> {
    let paths = FOLDERS.iter().map(|folder| Path::new(folder).join(name));
    paths.into_iter().find(|path| path.is_file()).ok_or_else(|| {
        let folders = FOLDERS.join(", ");
        let sentence = format!("the program {name} is missing (Debian: {package}); looked in {folders}");
        io::Error::new(io::ErrorKind::NotFound, sentence)
    })
}

/// A program that starts with an empty environment, so that no variable of the caller changes what it does.
pub fn command(name: &str, package: &str) -> io::Result<Command> {
    let mut command = Command::new(path_of(name, package)?);
    command.env_clear();
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_in_the_folders_of_the_system_or_its_package_is_named() {
        let found = path_of("sh", "dash").expect("every system has one");
        assert!(FOLDERS.iter().any(|folder| found.starts_with(folder)), "{}", found.display());
        let error = path_of("../../etc/passwd_", "none").expect_err("there is no such program").to_string();
        assert!(error.contains("(Debian: none); looked in /usr/sbin, "), "{error}");
    }
}
