/** A reporter of vitest for a run outside CI: its last line says how many suites were skipped because a server is missing, and what brings them. */

/** A suite that needs a server has the command that installs it in its name. */
const COMMAND = /apt-get install|services\.sh|npm run |node scripts\//

export default class SkippedReport {
  onTestRunEnd(modules) {
    const skipped = modules.filter(module =>
      [...module.children.allTests('skipped')].some(test => COMMAND.test(test.fullName)),
    )
    if (skipped.length === 0) return
    process.stdout.write(
      `${skipped.length} of ${modules.length} suites were skipped, whole or in part, because a server or program is missing. ` +
        'All of them: bash scripts/services.sh (as root on Debian); one of them: the command in its name\n',
    )
  }
}
