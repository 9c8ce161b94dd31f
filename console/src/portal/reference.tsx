/** The reference of an API: operations, parameters, bodies and responses of its document as text. */
import { useSignal } from '@preact/signals'
import { Field } from '../components/dialog.tsx'
import { Empty } from '../components/layout.tsx'
import { number } from '../components/numbers.ts'
import { Table } from '../components/table.tsx'
import { Status } from '../components/text.tsx'
import { href } from '../state/router.ts'
import { type ApiDocument, type Operation, partsOf, type Schema, typeOf } from './document.ts'

/** Maximum number of levels of a schema, which may be recursive. The reader opens them one by one. */
const MAX_DEPTH = 8

export function Reference({ document, apiId }: { readonly document: ApiDocument; readonly apiId: string }) {
  const wanted = useSignal('')
  const { operations } = document
  if (operations.length === 0) return <Empty title="The OpenAPI document has no operations" />
  const words = wanted.value.toLowerCase()
  const found = operations.filter(({ id, summary }) => `${id} ${summary}`.toLowerCase().includes(words))
  return (
    <>
      <div class="filters">
        <Field label={`Find an operation (${number(operations.length)} in all)`}>
          {id => (
            <input
              id={id}
              type="search"
              autocomplete="off"
              onInput={event => {
                wanted.value = event.currentTarget.value
              }}
            />
          )}
        </Field>
      </div>
      {found.length === 0 && <Empty title="No operation found" />}
      <div class="operations">
        {found.map(operation => (
          <OperationView key={operation.id} operation={operation} document={document} apiId={apiId} />
        ))}
      </div>
    </>
  )
}

export function MethodPath({ operation }: { readonly operation: Operation }) {
  return (
    <span class="method-path">
      <b class={`method ${operation.method.toLowerCase()}`}>{operation.method}</b>
      <code>{operation.path}</code>
    </span>
  )
}

function OperationView({
  operation,
  document,
  apiId,
}: {
  readonly operation: Operation
  readonly document: ApiDocument
  readonly apiId: string
}) {
  const open = useSignal(false)
  const { summary, description, isDeprecated, parameters, body, responses } = operation
  return (
    <details
      class="operation"
      onToggle={event => {
        open.value = event.currentTarget.open
      }}
    >
      <summary>
        <MethodPath operation={operation} />
        <span class="operation-summary">{summary}</span>
        {isDeprecated && <Status tone="warn">deprecated</Status>}
      </summary>
      {open.value && (
        <div class="operation-body">
          {description !== '' && <p class="api-text">{description}</p>}
          <div class="actions">
            <a class="button small" href={href(`apis/${apiId}/try`, { operation: operation.id })}>
              Try it
            </a>
          </div>
          {parameters.length > 0 && (
            <Table
              caption={`Parameters of ${operation.id}`}
              rows={parameters}
              keyOf={each => `${each.in} ${each.name}`}
              columns={[
                { title: 'Parameter', cell: each => <code>{each.name}</code> },
                { title: 'In', cell: each => `${each.in}${each.required ? ', required' : ''}` },
                { title: 'Type', cell: each => typeOf(each.schema) },
                { title: 'Meaning', cell: each => <Meaning schema={each.schema} text={each.description} /> },
              ]}
            />
          )}
          {body !== undefined && (
            <>
              <h4>
                Body{body.required ? ', required' : ''}: <code>{body.mediaType}</code>
              </h4>
              <SchemaView schema={body.schema} document={document} depth={0} />
            </>
          )}
          {responses.map(response => (
            <div key={response.status}>
              <h4>
                {response.status} {response.description}
              </h4>
              {response.schema !== undefined && (
                <SchemaView schema={response.schema} document={document} depth={0} />
              )}
            </div>
          ))}
        </div>
      )}
    </details>
  )
}

function Meaning({ schema, text }: { readonly schema: Schema; readonly text: string }) {
  const limits = [
    ['one of', Array.isArray(schema.enum) ? schema.enum.map(String).join(', ') : undefined],
    ['default', schema.default],
    ['from', schema.minimum],
    ['to', schema.maximum],
    ['pattern', schema.pattern],
  ].flatMap(([name, value]) => (value === undefined ? [] : [`${String(name)} ${String(value)}`]))
  const description = text || (typeof schema.description === 'string' ? schema.description : '')
  return (
    <>
      {description}
      {limits.length > 0 && <span class="sub">{limits.join(' · ')}</span>}
    </>
  )
}

function SchemaView({
  schema,
  document,
  depth,
}: {
  readonly schema: Schema
  readonly document: ApiDocument
  readonly depth: number
}) {
  const parts = depth >= MAX_DEPTH ? [] : partsOf(schema, document.resolve)
  if (parts.length === 0) return depth === 0 ? <p class="muted">{typeOf(schema)}</p> : null
  return (
    <ul class="schema">
      {parts.map(part => (
        <Part key={part.name} part={part} document={document} depth={depth} />
      ))}
    </ul>
  )
}

function Part({
  part,
  document,
  depth,
}: {
  readonly part: ReturnType<typeof partsOf>[number]
  readonly document: ApiDocument
  readonly depth: number
}) {
  const open = useSignal(false)
  const { name, required, schema } = part
  const line = (
    <>
      <code>{name}</code> <span class="muted">{typeOf(schema)}</span>
      {required && <span class="required"> required</span>}
    </>
  )
  const meaning = (
    <p class="api-text">
      <Meaning schema={schema} text="" />
    </p>
  )
  if (depth + 1 >= MAX_DEPTH || partsOf(schema, document.resolve).length === 0)
    return (
      <li>
        {line}
        {meaning}
      </li>
    )
  return (
    <li>
      <details
        onToggle={event => {
          open.value = event.currentTarget.open
        }}
      >
        <summary>{line}</summary>
        {open.value && <SchemaView schema={schema} document={document} depth={depth + 1} />}
      </details>
      {meaning}
    </li>
  )
}
