/** Recognizes HTML pages, and looks for the title or first heading of one. */

const MAX_TITLE_CHARS = 200
/** Titles are in the head of a page. */
const MAX_SEARCHED_CHARS = 16_384

export function isHtmlPage(type: string, text: string): boolean {
  return (
    type === 'text/html' ||
    type === 'application/xhtml+xml' ||
    /^\s{0,1000}<(?:!doctype html|html)\b/i.test(text)
  )
}

/** The title of a page, or its first heading; '' without either. */
export function titleOf(page: string): string {
  const start = page.slice(0, MAX_SEARCHED_CHARS)
  for (const name of ['title', 'h1']) {
    const opened = new RegExp(`<${name}\\b[^>]{0,200}>`, 'i').exec(start)
    if (opened === null) continue
    const text = start.slice(opened.index + opened[0].length)
    const end = text.search(new RegExp(`</${name}\\b`, 'i'))
    const title = (end < 0 ? '' : text.slice(0, end))
      .replace(/<[^>]*>/g, '')
      .replace(/\s+/g, ' ')
      .trim()
    if (title !== '') return title.slice(0, MAX_TITLE_CHARS)
  }
  return ''
}
