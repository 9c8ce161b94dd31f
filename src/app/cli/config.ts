/** `toolgate config export|diff|apply|follow|validate|schema`: the options of configuration as code. The work is in `config/`. */
import { type Command, Option } from 'commander'
import { type CommandContext, urlOption } from './command.ts'
import type { ConfigOptions } from './config/options.ts'
import { addSubcommands, type Subcommand } from './subcommands.ts'

const OPTIONS = {
  url: () =>
    new Option(
      '--url <url>',
      'address of the control plane, without /v1 (default: API_URL, else http://localhost:8081)',
    ).argParser(urlOption),
  owner: () => new Option('--owner <name>', 'export only the resources that have this owner'),
  tenant: () =>
    new Option(
      '--tenant <name>',
      'limit the command to this tenant (default: all tenants that the token can access)',
    ),
  prune: () =>
    new Option(
      '--prune',
      'delete the resources that have the owner of the files but are missing from the files',
    ),
  takeOver: () =>
    new Option(
      '--take-over',
      'also change resources that have another owner; the owner in the files becomes the owner of these resources',
    ),
  overwriteDrift: () =>
    new Option('--overwrite-drift', 'overwrite changes that were made outside of `config apply`'),
  exitCode: () =>
    new Option(
      '--exit-code',
      'exit with 1 if `config apply` would change a resource, or if a resource in the files has another owner or was changed outside of `config apply`',
    ),
  json: () => new Option('--json', 'print JSON'),
} as const

type Run = (options: ConfigOptions, files: readonly string[], env: CommandContext['env']) => Promise<number>

const ACCESS =
  'Uses the access token in TOOLGATE_TOKEN, or requests one from AUTH_ISSUER with TOOLGATE_CLIENT_ID and TOOLGATE_CLIENT_SECRET. For each of these variables, a variable with the suffix _FILE may name a file that contains the value.'
const FILES =
  'Merges all given files, and all YAML and JSON files in given folders, into one configuration. `spec: {from_file: orders.yaml}` includes the OpenAPI document orders.yaml.'
const SECRETS =
  'A secret written as `from: NAME` takes its value from the environment variable NAME, or from the file that NAME_FILE names.'

const SUBCOMMANDS: readonly Subcommand<keyof typeof OPTIONS, Run>[] = [
  {
    usage: 'export',
    summary: 'print the configuration of the control plane as YAML',
    description: `Prints tenants, plans, APIs, products, consumers and webhooks as one YAML document. This document contains the names of secrets, but not the values. ${ACCESS}`,
    options: ['url', 'owner', 'tenant', 'json'],
    examples: ['toolgate config export > toolgate.yaml', 'toolgate config export --owner team-a'],
    exitCodes: '0 printed, 1 a failed or refused request, 78 no token',
    run: async (options, _files, env) => (await import('./config/export.ts')).exportTree(options, env),
  },
  {
    usage: 'diff <files...>',
    summary: 'show the changes that `config apply` would make',
    description: `Shows the changes that \`config apply\` would make, and the changes that were made in other ways since the last \`config apply\`. ${FILES} ${SECRETS} ${ACCESS}`,
    options: ['url', 'tenant', 'prune', 'takeOver', 'exitCode', 'json'],
    examples: ['toolgate config diff toolgate.yaml', 'toolgate config diff gateway/ --prune --exit-code'],
    exitCodes:
      '0 compared, 1 invalid files or a failed request or (with --exit-code) a difference, 78 no token',
    run: async (options, files, env) =>
      (await import('./config/apply.ts')).showDifferences(options, files, env),
  },
  {
    usage: 'apply <files...>',
    summary: 'apply configuration files in one transaction',
    description: `Shows the changes, then applies them in one transaction. Applies nothing if the configuration of the control plane was changed after the command showed the changes. ${FILES} ${SECRETS} ${ACCESS}`,
    options: ['url', 'tenant', 'prune', 'takeOver', 'overwriteDrift', 'json'],
    examples: ['toolgate config apply toolgate.yaml', 'toolgate config apply gateway/ --prune'],
    exitCodes: '0 applied or already up to date, 1 invalid files or a failed request, 78 no token',
    run: async (options, files, env) => (await import('./config/apply.ts')).applyTree(options, files, env),
  },
  {
    usage: 'follow',
    summary: 'continuously apply the GatewayBinding objects of a Kubernetes cluster',
    description: `Applies each GatewayBinding of the cluster as \`config apply\` does, and writes the result into the status of GatewayBinding and GatewayInstance \
objects. If several processes run this command, only the elected leader applies the objects. The process is ready when it prints a line on stdout that begins with {"ready":true. ${ACCESS} \
KUBECONFIG selects the cluster; without it, the command uses the cluster of its pod. POD_NAMESPACE is the namespace of the leader Lease. POD_NAME is the name with which this process holds the Lease.`,
    options: ['url'],
    examples: [
      'toolgate config follow',
      'KUBECONFIG=~/.kube/config toolgate config follow --url https://api.example.com',
    ],
    exitCodes:
      '0 stopped by a signal, 1 an unusable cluster or missing CustomResourceDefinitions or RBAC rules, 78 no token or no cluster',
    run: async (options, _files, env) => (await import('./config/follow.ts')).followCluster(options, env),
  },
  {
    usage: 'validate <files...>',
    summary: 'check configuration files without a control plane',
    description: `Checks configuration files against their JSON Schema. Needs no control plane. ${FILES}`,
    options: ['json'],
    examples: ['toolgate config validate toolgate.yaml'],
    exitCodes: '0 valid, 1 invalid',
    run: async (options, files) => (await import('./config/validate.ts')).validateTree(options, files),
  },
  {
    usage: 'schema',
    summary: 'print the JSON Schema for configuration files',
    description: 'Prints the JSON Schema for configuration files, for use in editors.',
    options: ['json'],
    examples: ['toolgate config schema > configuration.schema.json'],
    exitCodes: '0 printed',
    run: async () => (await import('./config/schema.ts')).printSchema(),
  },
]

export function addConfig(program: Command, context: CommandContext): void {
  const config = program
    .command('config')
    .summary('export, compare and apply the configuration as code')
    .description('Exports, compares and applies the configuration of the control plane as YAML.')
  addSubcommands(config, OPTIONS, SUBCOMMANDS, async (command, run) => {
    context.exitCode = await run(command.opts<ConfigOptions>(), command.args, context.env)
  })
}
