/** A form from a JSON Schema: texts, numbers and choices; everything else as JSON. */
import type { Schema } from '../../api/admin-types.ts'
import { Field } from '../../components/dialog.tsx'

type Arguments = Readonly<Record<string, unknown>>

interface FormProps {
  readonly schema: Schema
  readonly value: Arguments
  readonly onChange: (value: Arguments) => void
  /** Called with a text that is not JSON, and with undefined once it is. */
  readonly onFault: (name: string, fault: string | undefined) => void
}

const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null

export function SchemaForm({ schema, value, onChange, onFault }: FormProps) {
  const properties = isSchema(schema.properties) ? Object.entries(schema.properties) : []
  const required = Array.isArray(schema.required) ? (schema.required as unknown[]) : []
  if (properties.length === 0) return <p class="muted">The form has no fields.</p>
  const set = (name: string, next: unknown): void => {
    const { [name]: _, ...rest } = value
    onChange(next === undefined ? rest : { ...rest, [name]: next })
  }
  return (
    <>
      {properties.map(([name, property]) => (
        <Field
          key={name}
          label={required.includes(name) ? `${name} (required)` : name}
          {...hintOf(isSchema(property) ? property : {})}
        >
          {(id, hintId) => (
            <Input
              id={id}
              hintId={hintId}
              schema={isSchema(property) ? property : {}}
              value={value[name]}
              onChange={next => set(name, next)}
              onFault={fault => onFault(name, fault)}
            />
          )}
        </Field>
      ))}
    </>
  )
}

function hintOf({ description }: Schema): { hint?: string } {
  return typeof description === 'string' ? { hint: description } : {}
}

interface InputProps {
  readonly id: string
  readonly hintId: string | undefined
  readonly schema: Schema
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly onFault: (fault: string | undefined) => void
}

function Input({ id, hintId, schema, value, onChange, onFault }: InputProps) {
  const common = { id, 'aria-describedby': hintId }
  const choices = Array.isArray(schema.enum) ? (schema.enum as unknown[]) : undefined
  if (choices !== undefined || schema.type === 'boolean') {
    const values = choices ?? [true, false]
    return (
      <select
        {...common}
        value={value === undefined ? '' : JSON.stringify(value)}
        onChange={({ currentTarget: { value: text } }) =>
          onChange(text === '' ? undefined : JSON.parse(text))
        }
      >
        <option value="">not sent</option>
        {values.map(each => (
          <option key={JSON.stringify(each)} value={JSON.stringify(each)}>
            {String(each)}
          </option>
        ))}
      </select>
    )
  }
  if (schema.type === 'integer' || schema.type === 'number')
    return (
      <input
        {...common}
        type="number"
        step={schema.type === 'integer' ? 1 : 'any'}
        value={typeof value === 'number' ? value : ''}
        onInput={({ currentTarget }) =>
          onChange(currentTarget.value === '' ? undefined : currentTarget.valueAsNumber)
        }
      />
    )
  if (schema.type === 'string')
    return (
      <input
        {...common}
        autocomplete="off"
        spellcheck={false}
        value={typeof value === 'string' ? value : ''}
        onInput={({ currentTarget }) =>
          onChange(currentTarget.value === '' ? undefined : currentTarget.value)
        }
      />
    )
  return <JsonInput common={common} value={value} onChange={onChange} onFault={onFault} />
}

function JsonInput({
  common,
  value,
  onChange,
  onFault,
}: Pick<InputProps, 'value' | 'onChange' | 'onFault'> & {
  readonly common: object
}) {
  const change = (text: string): void => {
    try {
      onChange(text.trim() === '' ? undefined : JSON.parse(text))
      onFault(undefined)
    } catch {
      onFault('is not JSON')
    }
  }
  return (
    <textarea
      {...common}
      spellcheck={false}
      placeholder="JSON"
      defaultValue={value === undefined ? '' : JSON.stringify(value, null, 2)}
      onInput={({ currentTarget }) => change(currentTarget.value)}
    />
  )
}
