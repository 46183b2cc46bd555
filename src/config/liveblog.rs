//! `[liveblog]`.

use serde::{Deserialize, Serialize};

/// `[liveblog]`: liveblogs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LiveblogConfig {
    /// Path of the object, in the main database, that a liveblog is made from when the call names no template.
    pub template: String,
}

impl Default for LiveblogConfig {
    fn default() -> LiveblogConfig {
        LiveblogConfig { template: "/SysConfig/Product/Shared/Templates/Default/liveblog.xml".to_owned() }
    }
}
