/** How an operation says that it cannot become a tool. It holds nothing else. */

/** The message is the reason, for the one who wrote the document. */
export class SkippedOperation extends Error {}
