/** Builds the JSON Schema of a configuration tree from its zod schema. */
import { OpenAPIRegistry, OpenApiGeneratorV31 } from '@asteasolutions/zod-to-openapi'
import { describeAuthorities } from './http/requirements.ts'
import { configurationTree } from './schemas/configuration-tree.ts'

export function configurationSchema(): object {
  const registry = new OpenAPIRegistry()
  registry.register('Configuration', configurationTree)
  const { components } = new OpenApiGeneratorV31(registry.definitions).generateComponents()
  describeAuthorities(components!)
  const { Configuration, ...others } = components!.schemas!
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Toolgate configuration',
    ...Configuration,
    $defs: others,
  }
  return JSON.parse(JSON.stringify(schema).replaceAll('#/components/schemas/', '#/$defs/')) as object
}
