/** `toolgate config diff` and `apply`: send files to the control plane, which compares or applies them, and print the result. */
import { isObject } from '../../../base/json/is-object.ts'
import { Reader } from '../../settings/reader.ts'
import { SettingsError } from '../../settings.ts'
import { type CommandContext, CommandFailure, EXIT, print, usesColor } from '../command.ts'
import { type ConfigClient, type ConfigResponse, connect } from './client.ts'
import { readTree, secretNames, type Tree } from './files.ts'
import type { ConfigOptions } from './options.ts'
import { type Changes, hasDifferences, showChanges } from './show.ts'

export async function showDifferences(
  options: ConfigOptions,
  files: readonly string[],
  env: CommandContext['env'],
): Promise<number> {
  const body = withSecrets(readTree(files), env)
  const call = await connect(options, env)
  const changes = changesOf(await dryRun(call, body, options))
  print(options.json ? `${JSON.stringify(changes)}\n` : showChanges(changes, usesColor()))
  return options.exitCode === true && hasDifferences(changes) ? EXIT.failed : EXIT.ok
}

export async function applyTree(
  options: ConfigOptions,
  files: readonly string[],
  env: CommandContext['env'],
): Promise<number> {
  const body = withSecrets(readTree(files), env)
  const call = await connect(options, env)
  const expected = await dryRun(call, body, options)
  if (!options.json) print(showChanges(changesOf(expected), usesColor()))
  const applied = await call({
    method: 'POST',
    query: { ...query(options), overwrite_drift: options.overwriteDrift && 'true' },
    body,
    ifMatch: expected.etag,
  })
  print(options.json ? `${JSON.stringify(applied.body)}\n` : 'Applied.\n')
  return EXIT.ok
}

function query({ prune, takeOver }: ConfigOptions) {
  return { prune: prune && 'true', take_over: takeOver && 'true' }
}

function dryRun(call: ConfigClient, body: Tree, options: ConfigOptions): Promise<ConfigResponse> {
  return call({ method: 'POST', query: { ...query(options), dry_run: 'true' }, body })
}

function changesOf({ body }: ConfigResponse): Changes {
  if (!isObject(body) || !Array.isArray(body.changes))
    throw new CommandFailure(
      'The response from the control plane has no list "changes". Set --url to a control plane that has the same version as this command.',
    )
  return body as unknown as Changes
}

/** Sends the values that the environment has; the control plane says which ones it needs. */
function withSecrets(tree: Tree, env: CommandContext['env']): Tree {
  const read = new Reader(env)
  const found = secretNames(tree).flatMap(name => {
    const value = read.optional(name)
    return value === undefined ? [] : [[name, value] as const]
  })
  if (read.faults.length > 0) throw new SettingsError(read.faults)
  return { ...tree, secrets: Object.fromEntries(found) }
}
