/** Error codes of JSON-RPC and MCP. `refusal.ts` says which refusals use one of them. */

/** JSON-RPC 2.0 §5.1. */
export const PARSE_ERROR = -32700
export const INVALID_REQUEST = -32600
export const METHOD_NOT_FOUND = -32601
export const INVALID_PARAMS = -32602
export const INTERNAL_ERROR = -32603
/** JSON-RPC 2.0 §5.1: first of the codes that servers define. */
export const SERVER_ERROR = -32000

/** MCP up to 2025-11-25, resources. */
export const RESOURCE_NOT_FOUND = -32002

/** MCP 2026-07-28. */
export const HEADER_MISMATCH = -32020
export const MISSING_CAPABILITY = -32021
export const UNSUPPORTED_VERSION = -32022
