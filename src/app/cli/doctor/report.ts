/** Renders the reports as text, line by line, or as one JSON object. */
import { mask } from '../demo/masked.ts'
import { shownText } from '../shown-text.ts'
import type { ClientProfile } from './clients.ts'
import type { ClientReport, StepReport, Verdict } from './examine.ts'

const WIDTH = 14
const COLORS = { ok: 32, failed: 31, skipped: 2, warning: 33 } as const
const WORDS = { ok: 'ok  ', failed: 'FAIL', warning: 'warn', skipped: 'skip' } as const

export class TextReport {
  readonly #write: (text: string) => void
  readonly #color: boolean

  constructor(write: (text: string) => void, color: boolean) {
    this.#write = write
    this.#color = color
  }

  begin(url: string, client: ClientProfile): void {
    this.#line(`\n${client.title} at ${url}\n`)
  }

  step({ step, status, found, warnings, fix }: StepReport): void {
    this.#line(`  ${this.#paint(status, WORDS[status])}  ${step.padEnd(WIDTH)}${shownText(found)}`)
    if (fix !== undefined) this.#line(`        ${''.padEnd(WIDTH)}fix: ${shownText(fix)}`)
    for (const warning of warnings)
      this.#line(`        ${''.padEnd(WIDTH)}${this.#paint('warning', 'note')}: ${shownText(warning)}`)
  }

  end({ header, login, steps }: ClientReport, { title }: ClientProfile): void {
    const skipped = steps.filter(step => step.status === 'skipped').length
    this.#line('')
    if (header !== undefined) this.#verdict(header, `${title} with this token`)
    this.#verdict(login, header === undefined ? title : `${title} with a login`)
    if (skipped > 0) this.#line(`  Skipped steps: ${skipped}.`)
  }

  #verdict({ ok, failed }: Verdict, who: string): void {
    this.#line(
      `  ${ok ? this.#paint('ok', `${who} can connect`) : this.#paint('failed', `${who} fails at: ${failed}`)}.`,
    )
  }

  close(): void {
    this.#write('\n')
  }

  #line(text: string): void {
    this.#write(`${mask(text)}\n`)
  }

  #paint(kind: keyof typeof COLORS, text: string): string {
    return this.#color ? `\u001b[${COLORS[kind]}m${text}\u001b[0m` : text
  }
}

/** @returns one line of JSON */
export function jsonReport(url: string, reports: readonly ClientReport[]): string {
  return `${mask(JSON.stringify({ url, ok: reports.every(report => report.ok), clients: reports }))}\n`
}
