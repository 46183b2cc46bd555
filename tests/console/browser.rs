//! A browser for tests: Debian's Chromium, driven by its chromedriver over WebDriver.
//!
//! The browser is the build without windows, `chromium-headless-shell`. It has the same engines for
//! pages and scripts, and takes a fifth of the processor time to start. With
//! `STET_TEST_BROWSER=chromium` tests run in the one with windows.
//!
//! Each [`Browser`] has a driver, a profile and a window of its own, so tests run beside each other
//! and two users of one test have separate cookies. All calls block. A test fails when its browser
//! is dropped if the page has logged an error, which includes every violation of the content
//! security policy; [`Browser::expect_error`] names errors that a test provokes.
//!
//! Waits end when their condition holds, or fail the test after [`WAIT`].

use std::cell::RefCell;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fantoccini::actions::{InputSource, KeyAction, KeyActions, MOUSE_BUTTON_LEFT, MouseActions, PointerAction};
use fantoccini::elements::Element;
use fantoccini::error::CmdError;
use fantoccini::key::Key;
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client as Driver, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use parking_lot::{Condvar, Mutex};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use url::{ParseError, Url};

use crate::harness::*;

/// The longest wait for something on a page. Chromium shares the processor with many servers, so
/// this only ends tests that hang.
const WAIT: Duration = Duration::from_secs(20);
/// The time between two looks at a page.
const PAUSE: Duration = Duration::from_millis(20);

/// Returns the path of the browser, and the name by which chromedriver knows its kind.
fn executable() -> (String, &'static str) {
    let wanted = std::env::var("STET_TEST_BROWSER").unwrap_or_else(|_| "chromium-headless-shell".to_owned());
    let path = format!("/usr/bin/{wanted}");
    let is_shell = wanted.ends_with("headless-shell") && Path::new(&path).exists();
    if is_shell { (path, "chrome-headless-shell") } else { ("/usr/bin/chromium".to_owned(), "chrome") }
}

/// The options of Chromium. It must not call its maker's servers.
const OPTIONS: [&str; 11] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1280,800",
    // A host that is not this machine, for which browsers allow less without TLS.
    "--host-resolver-rules=MAP newsroom.test 127.0.0.1",
];

/// Failed requests that are none of a page's faults: the one with which the console finds out that
/// there is no session, that for the icon of a page that names none, and pictures that a server
/// beside other tests has no time to scale. Browsers log every failed request, whatever the page
/// does about it.
const HARMLESS: [[&str; 2]; 3] = [
    ["/v3/auth/connection", "status of 401"],
    ["/favicon.ico", "status of 404"],
    ["/content/lowres?", "status of 503"],
];

fn is_harmless(error: &str) -> bool {
    HARMLESS.iter().any(|parts| parts.iter().all(|part| error.contains(part)))
}

/// The browsers that run now. Each takes more than a processor while it starts, so a large number at
/// a time only makes each slow, until waits end in vain.
static RUNNING: Mutex<usize> = Mutex::new(0);

/// Tells that a browser has ended.
static ENDED: Condvar = Condvar::new();

/// Returns how many browsers may run at a time: at least the two that some tests need.
fn most_browsers() -> usize {
    std::thread::available_parallelism().map_or(2, |processors| processors.get() + 1)
}

/// The permission to run a browser, given back when dropped.
struct BrowserSeat;

impl BrowserSeat {
    /// Waits until that many browsers may start, and takes a seat for each. A test that needs two takes
    /// both at once: tests that wait for each other's second one would wait for ever.
    fn take<const COUNT: usize>() -> [BrowserSeat; COUNT] {
        let mut running = RUNNING.lock();
        ENDED.wait_while(&mut running, |running| *running + COUNT > most_browsers());
        *running += COUNT;
        std::array::from_fn(|_| BrowserSeat)
    }
}

impl Drop for BrowserSeat {
    fn drop(&mut self) {
        *RUNNING.lock() -= 1;
        ENDED.notify_all();
    }
}

/// A browser with one window, killed when dropped.
pub struct Browser {
    runtime: Runtime,
    driver: Option<Driver>,
    /// Ends when all else of the browser has been dropped, even if a check at its end fails.
    _process: DriverProcess,
    /// Errors that pages have logged so far.
    logged: RefCell<Vec<String>>,
    /// Parts of the errors that the test expects.
    expected: RefCell<Vec<String>>,
    profile: TempDir,
    /// Given back last.
    _seat: BrowserSeat,
}

/// A chromedriver and its Chromium, killed when dropped.
struct DriverProcess(Child);

impl DriverProcess {
    /// Starts a chromedriver, and returns its port; `None` if there is none. It takes a port of IPv4
    /// that it finds free and the same one of IPv6, and ends if another process has that.
    fn start() -> Option<(DriverProcess, u16)> {
        const ATTEMPTS: usize = 10;
        for _ in 0..ATTEMPTS {
            let mut command = Command::new("chromedriver");
            // A group of its own, to which Chromium's processes belong, too.
            command.arg("--port=0").process_group(0).stdout(Stdio::piped()).stderr(Stdio::null());
            let mut process = match command.spawn() {
                Ok(process) => DriverProcess(process),
                Err(error) => {
                    assert!(std::env::var_os("CI").is_none(), "chromedriver is missing: {error}");
                    println!("skipped: there is no chromedriver");
                    return None;
                }
            };
            let output = process.0.stdout.take().expect("its output is piped");
            let mut lines = BufReader::new(output).lines().map_while(Result::ok);
            let port = lines.find_map(|line| line.split(" on port ").nth(1)?.strip_suffix('.')?.parse::<u16>().ok());
            if let Some(port) = port {
                // Its pipe stays open, or it would fail to write.
                std::thread::spawn(move || lines.for_each(drop));
                return Some((process, port));
            }
        }
        panic!("chromedriver has ended {ATTEMPTS} times before it named its port")
    }
}

impl Drop for DriverProcess {
    fn drop(&mut self) {
        // It can only fail if the processes have ended.
        let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
        let _ = self.0.wait();
    }
}

/// The end of a drag.
pub enum DragEnd<'c> {
    /// The middle of the first element that a selector finds.
    Element(&'c str),
    /// Pixels to the right and down.
    Offset(i64, i64),
}

impl<'c> From<&'c str> for DragEnd<'c> {
    fn from(css: &'c str) -> DragEnd<'c> {
        DragEnd::Element(css)
    }
}

impl From<(i64, i64)> for DragEnd<'_> {
    fn from((right, down): (i64, i64)) -> Self {
        DragEnd::Offset(right, down)
    }
}

/// An element of a page.
pub struct PageElement<'b> {
    browser: &'b Browser,
    element: Element,
}

impl Browser {
    /// Starts a browser with an empty profile; `None` if there is no chromedriver, and the test is
    /// skipped. Continuous integration must have one. A test must not start a second one while it has
    /// a first: see [`two_browsers`].
    pub fn start() -> Option<Browser> {
        let [seat] = BrowserSeat::take();
        Browser::start_on(seat)
    }

    fn start_on(seat: BrowserSeat) -> Option<Browser> {
        let (process, port) = DriverProcess::start()?;
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime can be built");
        let profile = TempDir::new().expect("a temporary directory can be made");
        let mut browser = Browser {
            runtime,
            driver: None,
            _process: process,
            logged: RefCell::default(),
            expected: RefCell::default(),
            profile,
            _seat: seat,
        };
        let mut builder = ClientBuilder::new(HttpConnector::new());
        builder.capabilities(browser.capabilities());
        let address = format!("http://127.0.0.1:{port}");
        browser.driver = Some(browser.runtime.block_on(builder.connect(&address)).expect("Chromium starts"));
        Some(browser)
    }

    fn capabilities(&self) -> serde_json::Map<String, Value> {
        let profile = format!("--user-data-dir={}", self.profile.path().display());
        let options: Vec<&str> = OPTIONS.into_iter().chain([profile.as_str()]).collect();
        let (executable, kind) = executable();
        let capabilities = json!({
            "browserName": kind,
            "goog:chromeOptions": { "args": options, "binary": executable },
            "goog:loggingPrefs": { "browser": "ALL" },
        });
        capabilities.as_object().expect("it is an object").clone()
    }

    fn driver(&self) -> &Driver {
        self.driver.as_ref().expect("a browser has a driver until it is dropped")
    }

    /// Opens an address and waits until the page is loaded.
    #[track_caller]
    pub fn open(&self, url: &str) {
        self.run(self.driver().goto(url)).unwrap_or_else(|error| panic!("{url}: {error}"));
    }

    /// Runs the body of a function in the page and returns what it returns; a promise is awaited.
    /// The policy of the page does not apply to the script itself.
    #[track_caller]
    pub fn script(&self, body: &str, arguments: &[Value]) -> Value {
        self.try_script(body, arguments).unwrap_or_else(|error| panic!("{body}: {error}"))
    }

    fn try_script(&self, body: &str, arguments: &[Value]) -> Result<Value, String> {
        self.run(self.driver().execute(body, arguments.to_vec()))
    }

    /// Waits for the end of a command.
    fn run<T>(&self, command: impl Future<Output = Result<T, CmdError>>) -> Result<T, String> {
        self.runtime.block_on(command).map_err(|error| error.to_string())
    }

    /// Returns the first element that a selector finds, and waits for it.
    #[track_caller]
    pub fn find(&self, css: &str) -> PageElement<'_> {
        let find = || self.run(self.driver().find(Locator::Css(css)));
        let element = self.retry(&format!("an element `{css}`"), find);
        PageElement { browser: self, element }
    }

    /// Clicks the first element that a selector finds, once it is there, nothing covers it, and it is
    /// not disabled.
    #[track_caller]
    pub fn click(&self, css: &str) {
        let click = async || {
            let element = self.driver().find(Locator::Css(css)).await?;
            let is_enabled = element.is_enabled().await?;
            if is_enabled {
                element.click().await?;
            }
            Ok(is_enabled)
        };
        self.retry(&format!("a click on `{css}`"), || match self.run(click()) {
            Ok(true) => Ok(()),
            Ok(false) => Err("it is disabled".to_owned()),
            Err(error) => Err(error),
        });
    }

    /// Types a text into the focused element.
    #[track_caller]
    pub fn type_text(&self, text: &str) {
        let typed = text.chars().flat_map(|value| [KeyAction::Down { value }, KeyAction::Up { value }]);
        self.perform_keys(typed);
    }

    /// Presses a key, with modifiers before it, such as `a`, `Enter` or `Control+Shift+ArrowUp`.
    #[track_caller]
    pub fn press(&self, keys: &str) {
        let keys: Vec<char> = keys.split('+').map(key_of).collect();
        let down = keys.iter().map(|value| KeyAction::Down { value: *value });
        let up = keys.iter().rev().map(|value| KeyAction::Up { value: *value });
        self.perform_keys(down.chain(up));
    }

    #[track_caller]
    fn perform_keys(&self, keys: impl Iterator<Item = KeyAction>) {
        let actions = keys.fold(KeyActions::new("keyboard".to_owned()), InputSource::then);
        self.run(self.driver().perform_actions(actions)).unwrap_or_else(|error| panic!("keys: {error}"));
    }

    /// Drags the first element that a selector finds with the mouse, in several steps.
    #[track_caller]
    pub fn drag<'c>(&self, from: &str, to: impl Into<DragEnd<'c>>) {
        self.hold(from, to);
        self.release();
    }

    /// Drags as [`Browser::drag`] does, but keeps the button pressed.
    #[track_caller]
    pub fn hold<'c>(&self, from: &str, to: impl Into<DragEnd<'c>>) {
        const STEPS: i64 = 8;
        self.find(from);
        let (x, y) = self.middle_of(from);
        let (to_x, to_y) = match to.into() {
            DragEnd::Offset(right, down) => (x + right, y + down),
            DragEnd::Element(css) => {
                self.find(css);
                self.middle_of(css)
            }
        };
        let move_to = |x: i64, y: i64| {
            let duration = Some(Duration::from_millis(10));
            PointerAction::MoveTo { duration, x: x as f64, y: y as f64 }
        };
        let mut way = vec![move_to(x, y), PointerAction::Down { button: MOUSE_BUTTON_LEFT }];
        way.extend((1..=STEPS).map(|step| move_to(x + (to_x - x) * step / STEPS, y + (to_y - y) * step / STEPS)));
        // A target that appears during the drag sees a movement over it, too.
        way.extend([move_to(to_x + 1, to_y), move_to(to_x, to_y)]);
        self.perform_pointer(way);
    }

    /// Releases the button of the mouse.
    #[track_caller]
    pub fn release(&self) {
        self.perform_pointer(vec![PointerAction::Up { button: MOUSE_BUTTON_LEFT }]);
    }

    #[track_caller]
    fn perform_pointer(&self, way: Vec<PointerAction>) {
        let actions = way.into_iter().fold(MouseActions::new("mouse".to_owned()), InputSource::then);
        self.run(self.driver().perform_actions(actions)).unwrap_or_else(|error| panic!("mouse: {error}"));
    }

    /// Returns the middle of the first element that a selector finds, which must be in the window.
    fn middle_of(&self, css: &str) -> (i64, i64) {
        let script = "const box = document.querySelector(arguments[0]).getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2].map(Math.floor);";
        let place = self.script(script, &[json!(css)]);
        let number = |at: usize| place[at].as_i64().expect("a coordinate is a number");
        (number(0), number(1))
    }

    /// Waits until a JavaScript expression is true.
    #[track_caller]
    pub fn wait_for(&self, what: &str, expression: &str) {
        let body = format!("return Boolean({expression});");
        self.retry(what, || match self.try_script(&body, &[]) {
            Ok(Value::Bool(true)) => Ok(()),
            Ok(_) => Err(format!("`{expression}` is false")),
            Err(error) => Err(error),
        });
    }

    #[track_caller]
    fn retry<T>(&self, what: &str, attempt: impl Fn() -> Result<T, String>) -> T {
        let begun = Instant::now();
        loop {
            match attempt() {
                Ok(value) => return value,
                Err(error) => assert!(begun.elapsed() < WAIT, "waited in vain: {what}: {error}"),
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Writes a picture of the window as PNG.
    #[track_caller]
    pub fn screenshot(&self, path: &Path) {
        let picture = self.run(self.driver().screenshot()).expect("a picture can be taken");
        std::fs::write(path, picture).expect("a picture can be written");
    }

    /// Sets the size of the window, in pixels.
    #[track_caller]
    pub fn set_window(&self, width: u32, height: u32) {
        self.run(self.driver().set_window_size(width, height)).expect("a window can be resized");
    }

    /// Returns the errors that pages have logged so far: uncaught exceptions, `console.error`,
    /// failed requests other than [`HARMLESS`] ones, and violations of the policy.
    pub fn console_errors(&self) -> Vec<String> {
        let entries = self.run(self.driver().issue_cmd(TakeLog)).expect("the log can be read");
        let entries = entries.as_array().into_iter().flatten();
        let errors = entries.filter(|entry| entry["level"] == "SEVERE").map(|entry| entry["message"].to_string());
        self.logged.borrow_mut().extend(errors.filter(|error| !is_harmless(error)));
        self.logged.borrow().clone()
    }

    /// Allows errors that contain a text, such as the failed request that a test provokes.
    pub fn expect_error(&self, part: &str) {
        self.expected.borrow_mut().push(part.to_owned());
    }

    /// Returns the errors that the test does not expect.
    fn unexpected_errors(&self) -> Vec<String> {
        let mut errors = self.console_errors();
        errors.retain(|error| !self.expected.borrow().iter().any(|part| error.contains(part)));
        errors
    }

    /// Makes the processor seem slower to the page, by a factor.
    pub fn slow_down(&self, factor: u64) {
        self.run(self.driver().issue_cmd(SlowDown(factor))).expect("the processor can be made slower");
    }

    /// Checks with axe-core how accessible the page is. Returns a line for each violation, or `None`
    /// if axe-core is not installed.
    pub fn axe(&self) -> Option<Vec<String>> {
        let file =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("target/clients/console/node_modules/axe-core/axe.min.js");
        let Ok(axe) = std::fs::read_to_string(&file) else {
            println!("skipped: there is no axe-core; `scripts/clients tools` installs it");
            return None;
        };
        self.script(&format!("{axe}\n;window.axe = axe;"), &[]);
        let found = self.script("return axe.run(document, { resultTypes: ['violations'], preload: false });", &[]);
        let violations = found["violations"].as_array().expect("axe-core reports violations").iter();
        Some(violations.map(violation).collect())
    }
}

/// The command that returns the browser's log since the last one. It is chromedriver's own, beside
/// the standard of WebDriver.
#[derive(Debug)]
struct TakeLog;

impl WebDriverCompatibleCommand for TakeLog {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!("session/{}/se/log", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(json!({ "type": "browser" }).to_string()))
    }
}

/// The command that makes the page's processor slower. It is chromedriver's own, too.
#[derive(Debug)]
struct SlowDown(u64);

impl WebDriverCompatibleCommand for SlowDown {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!("session/{}/goog/cdp/execute", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &Url) -> (http::Method, Option<String>) {
        let body = json!({ "cmd": "Emulation.setCPUThrottlingRate", "params": { "rate": self.0 } });
        (http::Method::POST, Some(body.to_string()))
    }
}

/// Renders a violation that axe-core has found: its rule, and the elements.
fn violation(found: &Value) -> String {
    let nodes = found["nodes"].as_array().into_iter().flatten();
    let targets: Vec<_> = nodes.map(|node| node["target"].to_string()).collect();
    format!("{}: {} {}", found["id"], found["help"], targets.join(" "))
}

impl PageElement<'_> {
    /// Returns the text that is shown.
    pub fn text(&self) -> String {
        self.browser.run(self.element.text()).expect("an element has a text")
    }

    /// Returns an attribute, if the element has it.
    pub fn attribute(&self, name: &str) -> Option<String> {
        self.browser.run(self.element.attr(name)).expect("the element is on the page")
    }
}

/// Returns the character by which WebDriver knows a key.
fn key_of(name: &str) -> char {
    let key = match name {
        "Control" => Key::Control,
        "Shift" => Key::Shift,
        "Alt" => Key::Alt,
        "Meta" => Key::Meta,
        "Enter" => Key::Enter,
        "Escape" => Key::Escape,
        "Tab" => Key::Tab,
        "Space" => Key::Space,
        "Backspace" => Key::Backspace,
        "Delete" => Key::Delete,
        "ArrowUp" => Key::Up,
        "ArrowDown" => Key::Down,
        "ArrowLeft" => Key::Left,
        "ArrowRight" => Key::Right,
        "Home" => Key::Home,
        "End" => Key::End,
        "PageUp" => Key::PageUp,
        "PageDown" => Key::PageDown,
        "F2" => Key::F2,
        "F10" => Key::F10,
        _ => {
            let mut characters = name.chars();
            return characters.next().filter(|_| characters.next().is_none()).expect("a key has a known name");
        }
    };
    key.into()
}

impl Drop for Browser {
    fn drop(&mut self) {
        let failed = std::thread::panicking();
        let mut errors = Vec::new();
        if let Some(driver) = &self.driver {
            if failed {
                // The driver may be what failed, so nothing here may panic.
                let picture = failure_picture();
                let taken = self.runtime.block_on(driver.screenshot()).map(|png| std::fs::write(&picture, png));
                eprintln!("the browser at the failure: {} ({taken:?})", picture.display());
                let log = self.runtime.block_on(driver.issue_cmd(TakeLog));
                eprintln!("logged: {log:?}, and before: {:#?}", self.logged.borrow());
            } else {
                errors = self.unexpected_errors();
            }
        }
        // The session is not ended: that takes longer than a kill, and nothing of it is kept.
        assert!(failed || errors.is_empty(), "the page has logged errors: {errors:#?}");
    }
}

/// Returns the path of a failed test's picture. The name of a test is that of its thread.
fn failure_picture() -> PathBuf {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("test").replace("::", "-");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/console-failures");
    let _ = std::fs::create_dir_all(&folder);
    folder.join(format!("{name}-{}.png", std::process::id()))
}

/// Starts two browsers, for two people who work at the same time.
pub fn two_browsers() -> Option<(Browser, Browser)> {
    let [one, two] = BrowserSeat::take();
    Some((Browser::start_on(one)?, Browser::start_on(two)?))
}

/// Opens the console at a server's address as a user who is signed in. A page of the server logs in,
/// so the browser has the cookie, and the test does not depend on the form for it.
#[track_caller]
pub fn sign_in(base: &str, browser: &Browser, user: &str, password: &str) {
    browser.open(&format!("{base}/healthz"));
    let log_in = "return fetch('/v3/auth/login', {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify(arguments[0]),
        }).then((reply) => reply.status);";
    let status = browser.script(log_in, &[credentials(user, password)]);
    assert_eq!(status, json!(200), "{user} could not be signed in");
    browser.open(&format!("{base}/console/"));
}
