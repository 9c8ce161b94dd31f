/** `npm run dev:policy`: the command `toolgate policy watch` from the sources, beside a running gateway. */
import { runCommand } from '../src/app/cli/program.ts'

process.exitCode = await runCommand(['policy', 'watch', ...process.argv.slice(2)])
