/** Reads and checks the files of a configuration, joins them to one tree, and lists the secrets that it names. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { isObject } from '../../../base/json/is-object.ts'
import { parseDocumentText } from '../../../catalog/document/parse-document.ts'
import { validateInput } from '../../../control-plane/api/http/validate.ts'
import { configurationTree } from '../../../control-plane/api/schemas/configuration-tree.ts'
import { CommandFailure } from '../command.ts'
import { readYaml } from './yaml.ts'

export type Tree = Record<string, unknown>

const GROUPS = ['plans', 'apis', 'products', 'consumers', 'webhooks'] as const

/** @param paths files, and folders whose YAML and JSON files are read @throws CommandFailure that lists the faults of the first invalid file */
export function readTree(paths: readonly string[]): Tree {
  const joined: Tree = {}
  for (const file of paths.flatMap(filesAt)) {
    const tree = readYaml(file, readText(file))
    if (!isObject(tree))
      throw new CommandFailure(`${file} is not a configuration: its top level must be an object.`)
    include(tree, file)
    const checked = validateInput(configurationTree, tree, 'body')
    if (!checked.ok)
      throw new CommandFailure(
        `${file} is not a valid configuration:${checked.faults.map(({ field, message }) => `\n  ${field} ${message}`).join('')}`,
      )
    joinTree(joined, tree, file)
  }
  return joined
}

function filesAt(path: string): string[] {
  try {
    if (!statSync(path).isDirectory()) return [path]
    const names = readdirSync(path).filter(name => /\.(ya?ml|json)$/.test(name))
    if (names.length === 0) throw new CommandFailure(`The folder ${path} contains no YAML or JSON file.`)
    return names.sort().map(name => join(path, name))
  } catch (error) {
    throw error instanceof CommandFailure ? error : unreadable(path, error)
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw unreadable(file, error)
  }
}

function unreadable(path: string, error: unknown): CommandFailure {
  return new CommandFailure(
    `${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}. Check the path and its permissions.`,
  )
}

/** Replaces `spec: {from_file: …}` by the document; the path is relative to the file. */
function include(tree: Tree, file: string): void {
  for (const tenant of members(tree.tenants))
    for (const api of members(isObject(tenant) ? tenant.apis : undefined)) {
      const spec = isObject(api) ? api.spec : undefined
      if (!isObject(spec) || typeof spec.from_file !== 'string' || Object.keys(spec).length !== 1) continue
      const path = resolve(dirname(file), spec.from_file)
      const text = readText(path)
      try {
        ;(api as Tree).spec = parseDocumentText(text)
      } catch (error) {
        throw new CommandFailure(`${path}: ${(error as Error).message}.`)
      }
    }
}

function members(group: unknown): unknown[] {
  return isObject(group) ? Object.values(group) : []
}

/** @throws CommandFailure when two files have the same resource, or different owners */
function joinTree(target: Tree, tree: Tree, file: string): void {
  const owner = target.apiVersion === undefined ? tree.owner : target.owner
  if (owner !== tree.owner)
    throw new CommandFailure(
      `The owner in ${file} differs from the owner in the other files. Apply the files of each owner separately.`,
    )
  const { plans, tenants, ...head } = tree
  Object.assign(target, head)
  joinGroup(target, 'plans', plans, file, 'plans')
  for (const [name, tenant] of Object.entries((tenants ?? {}) as Record<string, Tree>)) {
    target.tenants ??= {}
    const all = target.tenants as Record<string, Tree>
    all[name] ??= {}
    const place = all[name]
    for (const [field, value] of Object.entries(tenant)) {
      const path = `tenants/${name}/${field}`
      if ((GROUPS as readonly string[]).includes(field)) joinGroup(place, field, value, file, path)
      else if (place[field] === undefined) place[field] = value
      else throw new CommandFailure(describeRepetition(file, path))
    }
  }
}

function joinGroup(target: Tree, name: string, group: unknown, file: string, path: string): void {
  if (!isObject(group)) return
  target[name] ??= {}
  const place = target[name] as Tree
  for (const [key, value] of Object.entries(group)) {
    if (Object.hasOwn(place, key)) throw new CommandFailure(describeRepetition(file, `${path}/${key}`))
    place[key] = value
  }
}

function describeRepetition(file: string, path: string): string {
  return `${file} and an earlier file both define ${path}. Remove one of the two definitions.`
}

/** The names in `from` of all webhooks. */
export function secretNames(tree: Tree): string[] {
  const names = new Set<string>()
  for (const tenant of members(tree.tenants))
    for (const webhook of members(isObject(tenant) ? tenant.webhooks : undefined)) {
      if (!isObject(webhook)) continue
      for (const reference of [webhook.secret, ...members(webhook.custom_headers)])
        if (isObject(reference) && typeof reference.from === 'string') names.add(reference.from)
    }
  return [...names].sort()
}
