#!/usr/bin/env node
/** The `toolgate` command: finds the command and hands it the rest of the line. It does no work itself. */

interface Command {
  readonly summary: string
  /** It writes to DATA_DIR or the embedded database: what it creates is readable by this user only. */
  readonly writesData?: true
  /** Loaded only when asked for: `--help` must not start a gateway. Resolves to the exit code. */
  readonly load: () => Promise<(args: string[]) => Promise<number>>
}

const COMMANDS: Readonly<Record<string, Command>> = {
  serve: {
    summary: 'start gateway, control plane and, in development, identity provider and example',
    writesData: true,
    load: async () => (await import('./serve.ts')).serve,
  },
  demo: {
    summary: 'walk through the main job against a running gateway',
    load: async () => (await import('./demo.ts')).demo,
  },
  doctor: {
    summary: 'find out why a client cannot connect',
    load: async () => (await import('./doctor.ts')).doctor,
  },
  toolset: {
    summary: 'lint or render a tool-set or an OpenAPI document',
    load: async () => (await import('./toolset.ts')).toolset,
  },
  db: {
    summary: 'migrate the database of the control plane, or show its state',
    writesData: true,
    load: async () => (await import('./db.ts')).db,
  },
  metering: {
    summary: 'show metering events, or verify that none is missing',
    writesData: true,
    load: async () => (await import('./metering.ts')).metering,
  },
  policy: {
    summary: 'build, test and evaluate the policy',
    load: async () => (await import('./policy.ts')).policy,
  },
  bench: {
    summary: 'profile a gateway under load',
    load: async () => (await import('./bench.ts')).bench,
  },
}

/** sysexits.h */
const EXIT_USAGE = 64

function help(): string {
  const width = Math.max(...Object.keys(COMMANDS).map(name => name.length))
  const lines = Object.entries(COMMANDS).map(
    ([name, command]) => `  ${name.padEnd(width)}  ${command.summary}`,
  )
  return `Usage: toolgate COMMAND [options]\n\nCommands:\n${lines.join('\n')}\n\n'toolgate COMMAND --help' tells more. Exit codes: 0 done, 1 found something wrong, 64 usage, 78 configuration.\n`
}

async function main(argv: string[]): Promise<number> {
  const [name, ...rest] = argv
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    process.stdout.write(help())
    return name === undefined ? EXIT_USAGE : 0
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (command === undefined) {
    process.stderr.write(`toolgate: there is no command "${name}".\n\n${help()}`)
    return EXIT_USAGE
  }
  // here, since worker threads inherit the umask of the process and cannot set one
  if (command.writesData === true) process.umask(0o077)
  const run = await command.load()
  return run(rest)
}

process.exitCode = await main(process.argv.slice(2))
