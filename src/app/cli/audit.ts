/** `toolgate audit verify`: checks the chain of audit records. */
import { type Command, InvalidArgumentError } from 'commander'
import { type CommandContext, EXIT, footer, print } from './command.ts'
import { addressHelp, NOT_OPENED, withStore } from './db.ts'

interface Known {
  readonly seq: number
  readonly hash: string
}

export function addAudit(program: Command, context: CommandContext): void {
  const audit = program
    .command('audit')
    .summary('verify the audit records of the control plane')
    .description('Verifies the audit records in the database of the control plane.')
  audit
    .command('verify')
    .summary('check that no audit record was altered, added or removed')
    .description(
      `Recomputes the hash of each audit record from its content and the hash of the record before it, and compares the hashes and the sequence numbers \
with those in the database. Keep a copy of the printed seq:hash outside the database, and pass it with --known at the next verification: the command then \
also detects that all hashes were recomputed after a record had been altered. ${addressHelp('database')}`,
    )
    .option(
      '--known <seq:hash>',
      'seq:hash that an earlier verification printed: the record with this sequence number must have this hash, unless it was deleted after its retention period (default: no such check)',
      readKnown,
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      footer(
        ['toolgate audit verify', 'toolgate audit verify --known 1841:9f86d0… --json'],
        `0 verified, 1 an altered, added or missing record or a failure, ${NOT_OPENED}`,
      ),
    )
    .action(async ({ known, json = false }: { known?: Known; json?: boolean }) => {
      const { verifyAudit } = await import('../../control-plane/store/audit-chain.ts')
      context.exitCode = await withStore(context.env, 'existing', async ({ store }) => {
        const { fault, records, seq, hash, anchorSeq } = await verifyAudit(store, known)
        const report = {
          verified: fault === undefined,
          records,
          seq,
          hash,
          anchor_seq: anchorSeq,
          fault: fault ?? null,
        }
        if (json) print(`${JSON.stringify(report)}\n`)
        else if (fault !== undefined) print(`NOT VERIFIED: ${fault}\n`)
        else print(`${records} records verified; seq:hash of the last record: ${seq}:${hash}\n`)
        return fault === undefined ? EXIT.ok : EXIT.failed
      })
    })
}

function readKnown(text: string): Known {
  const [, seq, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? []
  if (seq === undefined)
    throw new InvalidArgumentError('Use a seq:hash that `toolgate audit verify` printed.')
  return { seq: Number(seq), hash: hash! }
}
