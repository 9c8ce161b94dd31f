/** The error of an operation, or of another entry, that cannot be compiled. */

/** The message is the reason, for the author of the document. */
export class SkippedOperation extends Error {}
