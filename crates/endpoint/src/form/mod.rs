//! Multipart forms: a JSON part `options` and files, in any order (docs/api/README.md, "Multipart
//! forms"). Files are written to the content store as they arrive.
//!
//! `actix-multipart` splits the parts. Their heads are read here ([`unfold`], [`disposition`],
//! [`encoding`]), and so is the boundary ([`stet_web::boundary`]). The reason is that the
//! library loses `\` in names, does not prefer `filename*` to `filename`, and does not decode
//! encoded bytes.

mod disposition;
mod encoding;
mod file_name;
mod unfold;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use actix_multipart::{Field, Multipart, MultipartError};
use actix_web::error::PayloadError;
use actix_web::http::header::HeaderMap;
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use serde::de::DeserializeOwned;
use stet_base::limits::offload;
use stet_base::limits::{GrowingBuffer, Reservation};
use stet_config::LimitsConfig;
use stet_content::ContentStore;
use stet_domain::count::count_with_noun;
use stet_domain::error::{Code, Error, Result};
use stet_domain::object::{MAX_NAME_BYTES, NewContent, file_name as check_name};
use stet_web::arriving::IncomingCall;
use stet_web::body::describe_payload_error;
use stet_web::body::{IncomingBody, JsonBodyReader, too_large, without_mark};
use stet_web::boundary::{boundary_of, reader_header};
use stet_web::call::Call;
use stet_web::pace::PacedBody;
use stet_web::reply::Json;

use self::disposition::{Disposition, disposition_of};
use self::encoding::TransferDecoder;
use self::unfold::UnfoldedForm;

/// The largest part `options`, in bytes, that stays parsed while the rest of the form arrives.
const SHORT_OPTIONS: usize = 1024;

/// A file that a form may have.
pub struct FileRule {
    /// Name of its part.
    pub name: &'static str,
    /// Whether there may be several.
    pub many: bool,
    /// The number of first bytes that are kept in memory.
    pub head: usize,
    /// Whether `application/octet-stream` is a type like others. Clients that send forms write it
    /// when they know no type.
    pub keeps_generic_type: bool,
}

/// The media type of unknown bytes.
const GENERIC_TYPE: &str = "application/octet-stream";

/// The number of first bytes from which a file's type is guessed.
const SNIFFED: usize = 512;

/// A file that came with a form.
pub struct FilePart {
    /// Name of its part.
    pub name: &'static str,
    /// The file name that the client gave.
    pub file_name: Option<String>,
    /// The stored bytes.
    pub content: NewContent,
    /// The first bytes, as many as the rule asks for.
    pub head: Bytes,
    /// Whether the media type was guessed from the bytes, for want of a stated type and a known
    /// file name extension.
    guessed: bool,
}

impl FilePart {
    /// Returns the content for an object of this name. The name determines the media type if
    /// neither the part nor its file name did.
    pub fn content_as(self, name: Option<&str>) -> NewContent {
        let mut content = self.content;
        if self.guessed
            && let Some(told) = name.and_then(stet_transfer::media_type_of)
        {
            content.content.content_type = told.into();
        }
        content
    }
}

/// Guesses the type of a file from its first bytes: a picture or PDF by its signature, mark-up by
/// its first character, else text (RFC 7578, 4.4). If the client sent the `generic` type, bytes
/// that are not text keep it.
fn guessed_type(first: &[u8], generic: bool) -> &'static str {
    const SIGNATURES: [(&[u8], &str); 7] = [
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"II*\0", "image/tiff"),
        (b"MM\0*", "image/tiff"),
        (b"%PDF-", "application/pdf"),
    ];
    if let Some((_, known)) = SIGNATURES.iter().find(|(signature, _)| first.starts_with(signature)) {
        return known;
    }
    if first.starts_with(b"RIFF") && first.get(8..12) == Some(b"WEBP") {
        return "image/webp";
    }
    match first_shown(first) {
        Some(b'<') => "text/xml",
        _ if generic && !is_text(first) => GENERIC_TYPE,
        _ => "text/plain",
    }
}

/// Reports whether the first bytes of a file are text: UTF-8 without control characters that text
/// does not contain. The last character may be cut off.
fn is_text(first: &[u8]) -> bool {
    let whole = match std::str::from_utf8(first) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && first.len() == SNIFFED,
    };
    whole && !first.iter().any(|byte| byte.is_ascii_control() && !b"\t\n\r\x0c\x1b".contains(byte))
}

/// Returns the first byte that is neither white space nor of a byte order mark of UTF-8.
fn first_shown(bytes: &[u8]) -> Option<u8> {
    bytes.iter().copied().find(|byte| !byte.is_ascii_whitespace() && !b"\xef\xbb\xbf".contains(byte))
}

/// The destinations of a form's data: the content store for files, the call's reservation for the
/// rest.
#[derive(Clone, Copy)]
pub struct FormDestination<'a> {
    /// The content store.
    pub contents: &'a ContentStore,
    /// The reservation for data in memory.
    pub room: &'a Arc<Reservation>,
}

/// A form that was read.
#[derive(Default)]
pub struct MultipartForm<T> {
    /// The part `options`.
    pub options: T,
    /// The part `options` as it was sent.
    options_text: Bytes,
    /// The files, in the order in which they arrived.
    pub files: Vec<FilePart>,
}

impl<T> MultipartForm<T> {
    /// Takes the first file of that name.
    pub fn take(&mut self, name: &str) -> Option<FilePart> {
        let at = self.files.iter().position(|file| file.name == name)?;
        Some(self.files.remove(at))
    }

    /// Returns texts that identify the form's content. They do not depend on the boundary or the
    /// order of parts, except for files of one name.
    pub fn sent(&self) -> Vec<&[u8]> {
        let mut files: Vec<&FilePart> = self.files.iter().collect();
        files.sort_by_key(|file| file.name);
        let mut sent: Vec<&[u8]> = vec![&self.options_text];
        for FilePart { name, file_name, content: NewContent { content, .. }, .. } in files {
            let file_name = file_name.as_deref().unwrap_or_default();
            sent.extend([name.as_bytes(), file_name.as_bytes(), content.content_type.as_bytes(), &content.sha256]);
        }
        sent
    }
}

/// The form of a call, or the earlier reply to the call.
pub enum FormSubmission<T, R> {
    /// A call to carry out, with its form.
    New(Box<Call>, MultipartForm<T>),
    /// The reply to an earlier attempt of the same call.
    Answered(Json<R>),
}

/// Reads the form of a call, checks the caller again, and looks up the reply to an earlier attempt
/// of the call. `may` is called in the same way as a target of [`IncomingCall::received`].
///
/// # Errors
/// The errors of [`read_parts`], [`IncomingCall::received`] and [`Call::check_keys`];
/// `IdempotencyMismatch`.
pub async fn read<T: DeserializeOwned + Default + Send + 'static, R>(
    arriving: IncomingCall,
    may: fn(&Call) -> Result<()>,
    rules: &[FileRule],
) -> Result<FormSubmission<T, R>> {
    let (call, (), form): (_, _, MultipartForm<T>) = arriving
        .received(may, async |call, IncomingBody { payload, room }, ()| {
            let into = FormDestination { contents: &call.app.content, room: &room };
            read_parts(call.headers(), payload, &call.app.config.limits, into, rules).await
        })
        .await?;
    if let Some(reply) = call.answered_before(&form.sent()).await? {
        return Ok(FormSubmission::Answered(reply));
    }
    call.check_keys(&form.options_text).await?;
    Ok(FormSubmission::New(call, form))
}

/// Permits every call: the check for calls that need no more rights than the dispatcher has
/// verified.
pub fn permit_any_caller(_: &Call) -> Result<()> {
    Ok(())
}

fn broken(error: MultipartError) -> Error {
    let why = match error {
        MultipartError::Payload(error) => describe_payload_error(&error),
        other => other.to_string(),
    };
    Error::new(Code::InvalidBody, format!("The form could not be read: {why}."))
}

/// Reads a form whose type and boundary are in `headers`, and stores its files.
///
/// # Errors
/// `InvalidBody`, `TooLarge`, `InvalidName` for an invalid file name; errors of the disk.
pub async fn read_parts<T: DeserializeOwned + Default + Send + 'static>(
    headers: &HeaderMap,
    payload: impl Stream<Item = Result<Bytes, PayloadError>> + Unpin + 'static,
    limits: &LimitsConfig,
    into: FormDestination<'_>,
    rules: &[FileRule],
) -> Result<MultipartForm<T>> {
    let payload = PacedBody::new(payload, limits.upload_progress_bytes, limits.upload_progress_seconds);
    let boundary = boundary_of(headers)?;
    let mut parts = Multipart::new(&reader_header(&boundary), UnfoldedForm::new(payload, &boundary));
    let mut seen: HashSet<String> = HashSet::new();
    let mut form = MultipartForm::default();
    let mut count = 0;
    while let Some(part) = parts.next().await {
        count += 1;
        if count > limits.upload_parts {
            let message =
                format!("The form has more than the {} allowed.", count_with_noun(limits.upload_parts, "part"));
            return Err(Error::new(Code::TooLarge, message).with_detail("limit", limits.upload_parts));
        }
        let mut part = part.map_err(broken)?;
        let Disposition { name, file_name } = disposition_of(part.headers())?;
        let rule = rules.iter().find(|rule| rule.name == name);
        let once = name == "options" || rule.is_some_and(|rule| !rule.many);
        if once && !seen.insert(name.clone()) {
            let message = format!("The form has the part `{name}` twice.");
            return Err(Error::new(Code::InvalidBody, message).with_detail("part", name));
        }
        match rule {
            _ if name == "options" => {
                let bytes = small_part(&mut part, limits.upload_part_options_bytes, into.room).await?;
                // Serde would also read a struct from a list of its fields.
                if without_mark(&bytes).trim_ascii_start().first() == Some(&b'[') {
                    let message = "The part `options` must be a JSON object, but is a list.";
                    return Err(Error::new(Code::InvalidBody, message).with_detail("path", "$"));
                }
                if bytes.len() <= SHORT_OPTIONS {
                    form.options = options_of(&bytes, limits, into.room, |options| options).await?;
                } else {
                    // Parsed here only to refuse it early, and again when the form is complete. The
                    // parsed options may be many times as large, and the rest of the form may take
                    // minutes.
                    options_of::<T, _>(&bytes, limits, &Reservation::unaccounted(), drop).await?;
                }
                form.options_text = bytes;
            }
            Some(rule) => form.files.extend(file_part(&mut part, file_name, rule, limits.upload_bytes, into).await?),
            // A part without a rule may be a file under a wrong name, which must not be dropped
            // silently.
            None => return Err(unknown_part(&name, rules)),
        }
    }
    if form.options_text.len() > SHORT_OPTIONS {
        form.options = options_of(&form.options_text, limits, into.room, |options| options).await?;
    }
    Ok(form)
}

/// Parses the options and applies `then` to them in the same offloaded job, so that dropping them
/// never waits.
async fn options_of<T: DeserializeOwned + 'static, U: Send + 'static>(
    text: &Bytes,
    limits: &LimitsConfig,
    room: &Arc<Reservation>,
    then: fn(T) -> U,
) -> Result<U> {
    let (bytes, text, limits, room) = (text.len(), text.clone(), limits.clone(), room.clone());
    offload::offload_if_large(bytes, move || JsonBodyReader::of(&limits, false, &room).object(&text).map(then)).await?
}

fn unknown_part(name: &str, rules: &[FileRule]) -> Error {
    let known: Vec<&str> = ["options"].into_iter().chain(rules.iter().map(|rule| rule.name)).collect();
    // A part's head may be long.
    let name: String = name.chars().take(40).collect();
    let message =
        format!("The form has a part `{name}`, which this call does not take: it takes `{}`.", known.join("`, `"));
    Error::new(Code::InvalidBody, message).with_detail("part", name)
}

/// The decoded bytes of a part.
struct PartBytes<'p> {
    part: &'p mut Field,
    name: &'p str,
    decoder: TransferDecoder,
    /// The number of encoded bytes that may still arrive.
    left: u64,
    /// The largest number of decoded bytes.
    limit: u64,
}

impl<'p> PartBytes<'p> {
    fn of(part: &'p mut Field, name: &'p str, limit: u64) -> Result<PartBytes<'p>> {
        let decoder = TransferDecoder::of(part.headers()).map_err(|why| not_decoded(name, &why))?;
        Ok(PartBytes { part, name, decoder, left: TransferDecoder::most_encoded(limit), limit })
    }

    /// Returns the next bytes; `None` at the end.
    ///
    /// # Errors
    /// `InvalidBody`, also for bytes that are not of the part's transfer encoding; `TooLarge` for
    /// far more than needed.
    async fn next(&mut self) -> Result<Option<Bytes>> {
        let Some(chunk) = self.part.next().await else {
            self.decoder.finish().map_err(|why| not_decoded(self.name, &why))?;
            return Ok(None);
        };
        let chunk = chunk.map_err(broken)?;
        let left = self.left.checked_sub(chunk.len() as u64);
        self.left = left.ok_or_else(|| too_large(&format!("The part `{}`", self.name), self.limit))?;
        match self.decoder.decode(&chunk) {
            Ok(Cow::Borrowed(_)) => Ok(Some(chunk)),
            Ok(Cow::Owned(decoded)) => Ok(Some(decoded.into())),
            Err(why) => Err(not_decoded(self.name, &why)),
        }
    }
}

fn not_decoded(part: &str, why: &str) -> Error {
    Error::new(Code::InvalidBody, format!("The part `{part}` {why}.")).with_detail("part", part)
}

async fn small_part(part: &mut Field, limit: usize, room: &Arc<Reservation>) -> Result<Bytes> {
    let mut bytes = GrowingBuffer::new(room);
    let mut chunks = PartBytes::of(part, "options", limit as u64)?;
    while let Some(chunk) = chunks.next().await? {
        if bytes.len() + chunk.len() > limit {
            return Err(too_large("The part `options`", limit as u64));
        }
        bytes.extend(&chunk, limit)?;
    }
    Ok(bytes.freeze())
}

/// Returns the media type that a part states, and whether it is the generic one. The type is `None`
/// if it can't be read, or if it is the generic one, which clients send in place of none.
fn named_type(part: &Field, rule: &FileRule) -> Result<(Option<String>, bool)> {
    let named = part.content_type();
    let generic = named.is_some_and(|named| named.essence_str() == GENERIC_TYPE);
    let named = named.filter(|_| !generic || rule.keeps_generic_type).map(ToString::to_string);
    // The type is stored with the file, while a part's head may be far longer.
    match named.as_ref().map(String::len).filter(|length| *length > MAX_NAME_BYTES) {
        Some(long) => {
            let message =
                format!("The type of the part `{}` has {long} bytes; at most {MAX_NAME_BYTES} are allowed.", rule.name);
            Err(Error::new(Code::InvalidBody, message).with_detail("part", rule.name))
        }
        None => Ok((named, generic)),
    }
}

/// Reads a file; `None` if the user has not chosen one. Browsers send that as no bytes under an
/// empty name.
async fn file_part(
    part: &mut Field,
    file_name: Option<String>,
    rule: &FileRule,
    limit: u64,
    into: FormDestination<'_>,
) -> Result<Option<FilePart>> {
    let (media_type, generic) = named_type(part, rule)?;
    let nameless = file_name.as_deref() == Some("");
    let file_name = file_name.filter(|_| !nameless);
    if let Some(error) = file_name.as_deref().and_then(|name| check_name(name).err()) {
        return Err(error.rephrased(|message| format!("The file of the part `{}`: {message}", rule.name)));
    }
    let mut upload = into.contents.upload(into.room);
    let mut head = GrowingBuffer::new(into.room);
    let mut first = Vec::new();
    let mut chunks = PartBytes::of(part, rule.name, limit)?;
    while let Some(chunk) = chunks.next().await? {
        first.extend(&chunk[..chunk.len().min(SNIFFED - first.len())]);
        head.extend(&chunk[..chunk.len().min(rule.head - head.len())], rule.head)?;
        upload.write(&chunk).await?;
        if upload.size() > limit {
            return Err(too_large(&format!("The part `{}`", rule.name), limit));
        }
    }
    if nameless && upload.size() == 0 {
        return Ok(None);
    }
    let told = media_type.or_else(|| Some(stet_transfer::media_type_of(file_name.as_deref()?)?.to_owned()));
    let content = upload.finish(told.as_deref().unwrap_or_else(|| guessed_type(&first, generic))).await?;
    Ok(Some(FilePart { name: rule.name, file_name, content, head: head.freeze(), guessed: told.is_none() }))
}
