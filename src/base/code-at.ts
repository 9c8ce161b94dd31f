/** Reads one UTF-16 code unit of a string. It checks no bounds: past the end it is NaN. */

/**
 * `text.charCodeAt(at)`, but the method is not looked up on the string. A gateway's strings are flat, sliced, joined and internalized
 * in turn; after five kinds V8 looks the method up for each character, which makes a scan seven times slower. It is named in full: a variable of the
 * module, as which a bundle keeps a constant, would be called as an unknown function.
 */
export function codeAt(text: string, at: number): number {
  return String.prototype.charCodeAt.call(text, at)
}
