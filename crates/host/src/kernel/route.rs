//! Routes of the main table, as `ip` names and prints them, and the controller that a route sets.

use std::io;
use std::net::IpAddr;

use crate::error::{Error, Result};
use crate::namespace::ip;

/// A route as a user names it: by its prefix, and by its metric where several routes have the prefix.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteName<'a> {
    prefix: &'a str,
    metric: Option<&'a str>,
}

/// A route as it is now.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// What `ip` prints of it, without the controller.
    pub bare: String,
    /// The controller that it sets.
    pub controller: Option<String>,
    /// What `ip` prints of it.
    pub line: String,
}

impl<'a> RouteName<'a> {
    /// Reads `10.1.0.0/16` or `10.1.0.0/16 metric 100`; nothing else that `ip` understands.
    pub fn read(text: &str) -> Result<RouteName<'_>> {
        let (prefix, metric) = match text.split_once(" metric ") {
            Some((prefix, metric)) => (prefix, Some(metric)),
            None => (text, None),
        };
        let is_number =
            |text: &str| text.bytes().all(|digit| digit.is_ascii_digit()) && text.parse::<u32>().is_ok();
        if is_prefix(prefix) && metric.is_none_or(is_number) {
            return Ok(RouteName { prefix, metric });
        }
        Err(Error::refused(format!(
            "{text:?} is not a valid prefix of a route: wanted `default`, or an address and a length such as \
             10.1.0.0/16, as `ip route show` prints them, and ` metric 100` behind it to choose one of several"
        )))
    }

    /// The name of a route that `ip` has printed.
    pub fn of(line: &'a str) -> RouteName<'a> {
        RouteName { prefix: line.split_whitespace().next().unwrap_or_default(), metric: Some(metric(line)) }
    }

    /// The only route with this name, which sets no controller unless it may be replaced.
    ///
    /// # Errors
    /// There is none, there are several, or it sets a controller.
    pub fn find(&self, replace: bool) -> Result<Route> {
        let RouteName { prefix, metric } = self;
        let mut routes =
            self.routes().map_err(|error| Error::refused(format!("route {prefix:?}: {error}")))?;
        let Some(route) = routes.pop() else {
            let metric = metric.map(|metric| format!(" with metric {metric}")).unwrap_or_default();
            return Err(Error::refused(format!(
                "there is no route to exactly {prefix}{metric} (see ip route show)"
            )));
        };
        if !routes.is_empty() {
            let names =
                routes.iter().chain([&route]).map(|route| format!("\"{prefix} metric {}\"", route.metric()));
            let names: Vec<String> = names.collect();
            return Err(Error::refused(format!(
                "there are several routes to {prefix}; choose one of {}",
                names.join(", ")
            )));
        }
        match &route.controller {
            Some(_) if !replace => Err(Error::refused(format!(
                "the route to {prefix} already sets a controller, which --replace exchanges: {}",
                route.line
            ))),
            _ => Ok(route),
        }
    }

    fn routes(&self) -> io::Result<Vec<Route>> {
        let family = if self.prefix.contains(':') { "-6 " } else { "" };
        let to = if self.prefix == "default" { "default" } else { &format!("exact {}", self.prefix) };
        let shown = ip(&format!("{family}route show {to}"))?;
        let routes = shown.lines().map(Route::of);
        Ok(routes.filter(|route| self.metric.is_none_or(|metric| metric == route.metric())).collect())
    }
}

impl Route {
    /// Reads a line of `ip route show`.
    pub fn of(line: &str) -> Route {
        let (mut bare, mut controller) = (Vec::new(), None);
        let mut words = line.split_whitespace();
        while let Some(word) = words.next() {
            match word {
                // The kernel adds the state of the link, which is not part of the route.
                "linkdown" | "dead" => {}
                "congctl" => controller = words.find(|word| *word != "lock").map(str::to_owned),
                _ => bare.push(word),
            }
        }
        Route { bare: bare.join(" "), controller, line: line.trim().to_owned() }
    }

    fn metric(&self) -> &str {
        metric(&self.bare)
    }

    /// The route with the controller that it sets, if the kernel still has it, otherwise without one.
    pub fn with_controller(&self, available: &[String]) -> String {
        match &self.controller {
            Some(controller) if available.contains(controller) => {
                format!("{} congctl {controller}", self.bare)
            }
            _ => self.bare.clone(),
        }
    }
}

/// Whether a route that `ip` printed once sets the controller `name` now.
pub fn is_on_route(name: &str, line: &str) -> bool {
    let routes = RouteName::of(line).routes().unwrap_or_default();
    routes.iter().any(|route| route.controller.as_deref() == Some(name))
}

/// The prefixes of the routes within a prefix that are longer, or the same, as `ip` prints them.
pub fn more_specific(prefix: &str) -> Result<Vec<String>> {
    let family = if prefix.contains(':') { "-6 " } else { "" };
    let within = if prefix == "default" { "0.0.0.0/0" } else { prefix };
    let shown = ip(&format!("{family}route show root {within}"))?;
    Ok(shown.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect())
}

/// The metric of a route; `ip` prints none where it is zero.
fn metric(line: &str) -> &str {
    let mut words = line.split_whitespace();
    words.find(|word| *word == "metric").and_then(|_| words.next()).unwrap_or("0")
}

/// Whether a text is the prefix of a route, and nothing else that `ip` understands.
fn is_prefix(text: &str) -> bool {
    let (address, length) = text.split_once('/').unwrap_or((text, "0"));
    let bits = match address.parse() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return text == "default",
    };
    length.bytes().all(|digit| digit.is_ascii_digit())
        && length.parse().is_ok_and(|length: u8| length <= bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_prefix_and_a_metric_reach_the_arguments_of_ip() {
        for name in ["default", "10.1.0.0/16", "10.1.2.3", "2001:db8::/32", "default metric 100"] {
            assert!(RouteName::read(name).is_ok(), "{name}");
        }
        let wrong = [
            "",
            "-force",
            "10.0.0.0/8 table 5",
            "10.0.0.0/33",
            "10.0.0.0/+8",
            "all",
            "default\n",
            "10.1/16/1",
            "default metric",
            "default metric 1 table 5",
            "default metric +1",
            "default metric 4294967296",
        ];
        for name in wrong {
            assert!(RouteName::read(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_route_is_split_into_itself_and_its_controller() {
        let line =
            "10.9.0.0/16 via 10.0.0.1 dev eth0 proto static metric 100 mtu lock 1400 congctl fh_a linkdown ";
        let route = Route::of(line);
        assert_eq!(route.bare, "10.9.0.0/16 via 10.0.0.1 dev eth0 proto static metric 100 mtu lock 1400");
        assert_eq!((route.controller.as_deref(), route.metric()), (Some("fh_a"), "100"));
        let of_others = Route::of("default via 10.0.0.1 dev eth0 congctl lock cubic initcwnd 20");
        assert_eq!((of_others.controller.as_deref(), of_others.metric()), (Some("cubic"), "0"));
        let available = ["cubic".to_owned()];
        assert_eq!(route.with_controller(&available), route.bare, "fh_a was removed meanwhile");
        let restored = "default via 10.0.0.1 dev eth0 initcwnd 20 congctl cubic";
        assert_eq!(of_others.with_controller(&available), restored);
    }
}
