/** `toolgate config export|diff|apply|follow|validate|schema`: the options of configuration as code. The work is in `config/`. */
import { type Command, Option } from 'commander'
import { type CommandContext, urlOption } from './command.ts'
import type { ConfigOptions } from './config/options.ts'
import { addSubcommands, type Subcommand } from './subcommands.ts'

/** Some subcommands have an option with the same name and another effect. */
const OPTIONS = {
  url: () =>
    new Option(
      '--url <url>',
      'address of the control plane, without /v1 (default: environment variable API_URL, else http://localhost:8081)',
    ).argParser(urlOption),
  owner: () =>
    new Option(
      '--owner <name>',
      'export only the resources that were applied from files with this `owner` (default: all resources)',
    ),
  exportTenant: () =>
    new Option(
      '--tenant <name>',
      'export only the resources in this tenant (default: all resources that the token can access)',
    ),
  tenant: () =>
    new Option(
      '--tenant <name>',
      'act only for this tenant; the command fails if the files contain another tenant or change a global plan (default: all tenants that the token can access)',
    ),
  prune: () =>
    new Option(
      '--prune',
      'also delete the resources that belong to the `owner` that the files name, but are missing from the files',
    ),
  showPrune: () =>
    new Option(
      '--prune',
      'also show what `config apply --prune` would delete: the resources that belong to the `owner` that the files name, but are missing from the files',
    ),
  takeOver: () =>
    new Option(
      '--take-over',
      'also change resources that belong to another `owner`, and make the `owner` that the files name their owner; without this option, the command fails if the files change such resources',
    ),
  showTakeOver: () =>
    new Option(
      '--take-over',
      'also show what `config apply --take-over` would change: resources that belong to another `owner`',
    ),
  overwriteDrift: () =>
    new Option(
      '--overwrite-drift',
      'overwrite changes that were made outside of `config apply`; without this option, the command fails if it would overwrite such changes',
    ),
  exitCode: () =>
    new Option(
      '--exit-code',
      'exit with 1 if the files differ from the control plane: `config apply` would change a resource, or would have to change a resource that belongs to another `owner`',
    ),
  json: () => new Option('--json', 'print JSON'),
  alwaysJson: () => new Option('--json', 'has no effect: the output is always JSON'),
} as const

type Run = (options: ConfigOptions, files: readonly string[], env: CommandContext['env']) => Promise<number>

const ACCESS =
  'Uses the access token in the environment variable TOOLGATE_TOKEN, or requests one from the identity provider in AUTH_ISSUER with TOOLGATE_CLIENT_ID and TOOLGATE_CLIENT_SECRET; it must be a token of a tenant-admin or cpi-admin. In place of each of these variables, a variable with the suffix _FILE may name a file that contains the value.'
const FILES =
  'The command merges all given files, and the YAML and JSON files in given folders, into one configuration. `spec: {from_file: specs/orders.yaml}` includes an OpenAPI document; its path is relative to the file that names it.'
const OWNER =
  'The field `owner` of the files names the owner of the applied resources (default: "default"). All given files must have the same `owner`.'
const SECRETS =
  'A secret written as `from: NAME` takes its value from the environment variable NAME, or from the file that NAME_FILE names.'

const SUBCOMMANDS: readonly Subcommand<keyof typeof OPTIONS, Run>[] = [
  {
    usage: 'export',
    summary: 'print the configuration of the control plane as YAML',
    description: `Prints tenants, plans, APIs, products, consumers and webhooks as one YAML document. With --tenant, or with the token of a tenant-admin, the document contains only the resources in that tenant, without the tenant itself and global plans. The document contains the names of secrets, but not the values. ${ACCESS}`,
    options: ['url', 'owner', 'exportTenant', 'json'],
    examples: ['toolgate config export > toolgate.yaml', 'toolgate config export --owner team-a'],
    exitCodes: '0 printed, 1 a failed or refused request, 78 no token or an invalid variable',
    run: async (options, _files, env) => (await import('./config/export.ts')).exportTree(options, env),
  },
  {
    usage: 'diff <files...>',
    summary: 'show the changes that `config apply` would make',
    description: `Shows the changes that \`config apply\` would make, and which changes made outside of \`config apply\` it would overwrite. Changes nothing. ${FILES} ${OWNER} ${SECRETS} ${ACCESS}`,
    options: ['url', 'tenant', 'showPrune', 'showTakeOver', 'exitCode', 'json'],
    examples: ['toolgate config diff toolgate.yaml', 'toolgate config diff gateway/ --prune --exit-code'],
    exitCodes:
      '0 compared, 1 invalid files, a failed or refused request, or (with --exit-code) a difference, 78 no token or an invalid variable',
    run: async (options, files, env) =>
      (await import('./config/apply.ts')).showDifferences(options, files, env),
  },
  {
    usage: 'apply <files...>',
    summary: 'apply configuration files in one transaction',
    description: `Shows the changes, then applies them in one transaction, without asking for confirmation. Applies nothing if one of the resources was changed after the command had compared them. ${FILES} ${OWNER} ${SECRETS} ${ACCESS}`,
    options: ['url', 'tenant', 'prune', 'takeOver', 'overwriteDrift', 'json'],
    examples: ['toolgate config apply toolgate.yaml', 'toolgate config apply gateway/ --prune'],
    exitCodes:
      '0 applied or already up to date, 1 invalid files, or a failed or refused request, 78 no token or an invalid variable',
    run: async (options, files, env) => (await import('./config/apply.ts')).applyTree(options, files, env),
  },
  {
    usage: 'follow',
    summary: 'continuously apply the GatewayBinding objects of a Kubernetes cluster',
    description: `Applies each GatewayBinding object of the cluster, which describes an API of a tenant, as \`config apply --prune\` does, and writes the result into the status of GatewayBinding and GatewayInstance \
objects. If several processes run this command, only the elected leader does so. When the process is ready, it prints a line on stdout that begins with {"ready":true. Runs until SIGTERM or SIGINT. ${ACCESS} \
KUBECONFIG names the kubeconfig file of the cluster; without it, the command uses the service account of its pod. The leader holds a Lease in the namespace POD_NAMESPACE (default: toolgate) under the name POD_NAME (default: host name).`,
    options: ['url'],
    examples: [
      'toolgate config follow',
      'KUBECONFIG=~/.kube/config toolgate config follow --url https://api.example.com',
    ],
    exitCodes:
      '0 stopped by a signal, 1 a refused token request, an unusable cluster, or missing CustomResourceDefinitions or RBAC rules, 78 no token or no cluster',
    run: async (options, _files, env) => (await import('./config/follow.ts')).followCluster(options, env),
  },
  {
    usage: 'validate <files...>',
    summary: 'check configuration files without a control plane',
    description: `Checks the syntax, fields and values of configuration files, and reports the faults of the first invalid file. Needs neither a control plane nor the values of secrets. ${FILES}`,
    options: ['json'],
    examples: ['toolgate config validate toolgate.yaml'],
    exitCodes: '0 valid, 1 a file that is invalid or cannot be read',
    run: async (options, files) => (await import('./config/validate.ts')).validateTree(options, files),
  },
  {
    usage: 'schema',
    summary: 'print the JSON Schema for configuration files',
    description: 'Prints the JSON Schema for configuration files, for use in editors.',
    options: ['alwaysJson'],
    examples: ['toolgate config schema > configuration.schema.json'],
    exitCodes: '0 printed',
    run: async () => (await import('./config/schema.ts')).printSchema(),
  },
]

export function addConfig(program: Command, context: CommandContext): void {
  const config = program
    .command('config')
    .summary('export, compare and apply the configuration of the control plane as files')
    .description(
      'Prints the configuration of the control plane as YAML, compares it with configuration files, and applies such files to it.',
    )
  addSubcommands(config, OPTIONS, SUBCOMMANDS, async (command, run) => {
    context.exitCode = await run(command.opts<ConfigOptions>(), command.args, context.env)
  })
}
