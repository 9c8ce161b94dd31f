/** The body of a trial in its media type: the text that the form begins with, and the content and headers made of the edited text. */

const JSON_TYPE = /^[\w.+-]+\/(?:[\w.+-]*\+)?json(?:;|$)/i
const FORM = /^application\/x-www-form-urlencoded(?:;|$)/i
const MULTIPART = /^multipart\/form-data(?:;|$)/i

/** JSON and the fields of multipart forms as JSON, forms as they are sent, a text as it is. */
export function bodyText(mediaType: string, example: unknown): string {
  if (FORM.test(mediaType)) return new URLSearchParams(fieldsOf(example)).toString()
  if (JSON_TYPE.test(mediaType) || MULTIPART.test(mediaType)) return JSON.stringify(example, null, 2)
  return typeof example === 'string' ? example : JSON.stringify(example, null, 2)
}

/** @throws SyntaxError when the text is not the JSON that it must be */
export function contentOf(
  mediaType: string,
  text: string,
  headers: Readonly<Record<string, string>>,
): { readonly headers: Readonly<Record<string, string>>; readonly content: string | FormData } {
  if (MULTIPART.test(mediaType)) {
    const content = new FormData()
    for (const [name, value] of fieldsOf(JSON.parse(text))) content.append(name, value)
    // `fetch` adds the type with the boundary
    return { headers, content }
  }
  // checked, and sent as it was written
  if (JSON_TYPE.test(mediaType)) JSON.parse(text)
  return { headers: { ...headers, 'content-type': mediaType }, content: text }
}

function fieldsOf(value: unknown): [string, string][] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).map(([name, each]) => [
    name,
    typeof each === 'object' ? JSON.stringify(each) : String(each),
  ])
}
