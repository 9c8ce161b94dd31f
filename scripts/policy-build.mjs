/** `npm run policy:build`: the command `toolgate policy build` from the sources, without building TypeScript first. */
import { runCommand } from '../src/app/cli/program.ts'

process.exitCode = await runCommand(['policy', 'build', ...process.argv.slice(2)])
