//! Who has installed an eBPF port, and when: several users may install on one host.

use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fmt, fs};

use nix::unistd::{Uid, User, getuid};
use serde::{Deserialize, Serialize};

/// The login user id of a process without a login.
const NOBODY_LOGGED_IN: u32 = u32::MAX;
const DAY_S: u64 = 86_400;

/// A user, and a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Owner {
    /// The number of the user who logged in; with `sudo` it is not root's.
    pub uid: u32,
    /// The user's name; empty if the number has none.
    pub user: String,
    /// The time in UTC, to the minute.
    pub at: String,
}

impl Owner {
    /// The user of this process, and the current time.
    pub fn here_and_now() -> Owner {
        let login = fs::read_to_string("/proc/self/loginuid").unwrap_or_default();
        let sudo = env::var("SUDO_UID").unwrap_or_default();
        let uid = person(&login, &sudo, getuid().as_raw());
        let user =
            User::from_uid(Uid::from_raw(uid)).ok().flatten().map(|user| user.name).unwrap_or_default();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Owner { uid, user, at: utc(now) }
    }

    /// The user without the time.
    pub fn person(&self) -> String {
        let Owner { uid, user, .. } = self;
        if user.is_empty() { format!("uid {uid}") } else { format!("{user} (uid {uid})") }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.person(), self.at)
    }
}

/// The user behind a process: the one who logged in, else the one whom `sudo` names, else the owner of the
/// process. Only root's word for `sudo` counts: `sudo` starts programs as root, and any other user could name anybody.
fn person(login: &str, sudo: &str, own: u32) -> u32 {
    let login = login.trim().parse().ok().filter(|uid| *uid != NOBODY_LOGGED_IN);
    let sudo = sudo.parse().ok().filter(|_| own == 0);
    login.or(sudo).unwrap_or(own)
}

/// A time, counted in seconds from 1970, as a date.
fn utc(seconds: u64) -> String {
    let (mut day, of_day) = (seconds / DAY_S, seconds % DAY_S);
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while day >= 365 + u64::from(leap(year)) {
        day -= 365 + u64::from(leap(year));
        year += 1;
    }
    let mut month = 1;
    for days in [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if day < days {
            break;
        }
        day -= days;
        month += 1;
    }
    format!("{year}-{month:02}-{:02} {:02}:{:02} UTC", day + 1, of_day / 3600, of_day / 60 % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 30 years of which 7 are leap years, and 31 + 28 days: day 11016. The last is day 20779, 2026-11-22.
    #[test]
    fn a_time_is_written_in_utc() {
        assert_eq!(utc(0), "1970-01-01 00:00 UTC");
        assert_eq!(utc(11_016 * DAY_S + 3_661), "2000-02-29 01:01 UTC");
        assert_eq!(utc(10_957 * DAY_S - 1), "1999-12-31 23:59 UTC");
        assert_eq!(utc(20_779 * DAY_S), "2026-11-22 00:00 UTC");
    }

    #[test]
    fn the_owner_is_who_logged_in_and_not_root() {
        assert_eq!(person("1000\n", "1001", 0), 1000);
        assert_eq!(person("4294967295\n", "1001", 0), 1001);
        assert_eq!(person("", "", 0), 0);
    }

    #[test]
    fn a_user_with_capabilities_cannot_name_another_user_as_owner() {
        assert_eq!(person("4294967295\n", "0", 1000), 1000);
        assert_eq!(person("", "1001", 1000), 1000);
    }

    #[test]
    fn an_owner_is_named_with_number_and_time() {
        let owner = |user: &str| Owner { uid: 1000, user: user.into(), at: "2026-11-22 12:00 UTC".into() };
        assert_eq!(owner("ada").to_string(), "ada (uid 1000), 2026-11-22 12:00 UTC");
        assert_eq!(owner("").to_string(), "uid 1000, 2026-11-22 12:00 UTC");
    }
}
