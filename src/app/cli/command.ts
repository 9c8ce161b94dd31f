/** Shared parts of the commands, such as exit codes, failures, parsers of option values, and output. */
import { InvalidArgumentError } from 'commander'

/** 64 and 78 are EX_USAGE and EX_CONFIG of sysexits.h. */
export const EXIT = { ok: 0, failed: 1, usage: 64, config: 78 } as const

export interface CommandContext {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Exit code of the process once the command has ended; an action sets it. */
  exitCode: number
}

/** A failure that the user can act on: its message is printed without a stack. */
export class CommandFailure extends Error {
  readonly exitCode: number
  constructor(message: string, exitCode: number = EXIT.failed) {
    super(message)
    this.name = 'CommandFailure'
    this.exitCode = exitCode
  }
}

/** The end of a help text. @param exitCodes what 0, 1 and the like mean for this command */
export function footer(examples: readonly string[], exitCodes: string): string {
  return `\nExamples:\n${examples.map(line => `  ${line}\n`).join('')}\nExit codes: ${exitCodes}, 64 wrong usage.`
}

/** @returns the URL without trailing slashes */
export function urlOption(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new InvalidArgumentError(`Write "${text}" as http://host[:port][/path].`)
  return text.replace(/\/+$/, '')
}

export function integerBetween(min: number, max: number): (text: string) => number {
  return text => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= min && value <= max) return value
    throw new InvalidArgumentError(`Use a whole number from ${min} to ${max}.`)
  }
}

/** Collects the values of a repeatable option `NAME=VALUE`. */
export function assignment(
  text: string,
  previous: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const at = text.indexOf('=')
  if (at <= 0) throw new InvalidArgumentError('Use the form NAME=VALUE.')
  return { ...previous, [text.slice(0, at)]: text.slice(at + 1) }
}

export function usesColor(): boolean {
  return process.stdout.isTTY === true && !process.env.NO_COLOR
}

export function print(text: string): void {
  process.stdout.write(text)
}

/** Progress and warnings go to stderr: stdout is for the result. */
export function printProgress(line: string): void {
  process.stderr.write(`${line}\n`)
}
