/** Customers and their addresses. Carts and orders are in other files. */
import type { ShopFields } from './fields.ts'
import type { Idempotency } from './idempotency.ts'
import { readPaging, shopPageOf } from './paging.ts'
import { shopConflict, shopInvalid } from './problem.ts'
import type { ShopResponse } from './request.ts'
import type { Route } from './router.ts'
import { type Address, born, type Customer, changed, type ShopState } from './state.ts'

const LABEL = /^[a-z][a-z0-9-]{0,19}$/
const PHONE = { max: 21, pattern: /^\+?[0-9 ]{5,20}$/, form: 'a phone number' }
const MAX_ADDRESSES = 10

export function customerRoutes(state: ShopState, idempotency: Idempotency): Route[] {
  return [
    {
      method: 'GET',
      path: '/customers',
      handle: request => ({
        status: 200,
        body: search(state, request.query({ integers: ['page', 'limit'] })),
      }),
    },
    {
      method: 'POST',
      path: '/customers',
      handle: request =>
        idempotency.run(request, 'createCustomer', () => {
          const input = readCustomer(request.body())
          checkEmail(state, input.email, undefined)
          const now = new Date().toISOString()
          return { status: 201, body: state.customers.add(id => ({ id, ...input, ...born(now) })) }
        }),
    },
    {
      method: 'GET',
      path: '/customers/{customerId}',
      handle: request => ({ status: 200, body: state.customers.get(request.param('customerId')) }),
    },
    {
      method: 'PATCH',
      path: '/customers/{customerId}',
      handle: request => {
        const customer = state.customers.get(request.param('customerId'))
        const patch = readPatch(request.body())
        if (patch.email !== undefined) checkEmail(state, patch.email, customer.id)
        return update(customer, patch)
      },
    },
    {
      method: 'PUT',
      path: '/customers/{customerId}/addresses/{label}',
      handle: request => {
        const customer = state.customers.get(request.param('customerId'))
        const fields = request.body()
        const address = readAddress(fields)
        fields.done()
        return setAddress(customer, request.param('label'), address)
      },
    },
  ]
}

/** Reads an address; the caller closes the fields. */
export function readAddress(fields: ShopFields): Address {
  return {
    recipient: fields.text('recipient', { min: 1, max: 100 }),
    street: fields.text('street', { min: 1, max: 200 }),
    postalCode: fields.text('postalCode', {
      max: 12,
      pattern: /^[A-Za-z0-9 -]{2,12}$/,
      form: 'a postal code',
    }),
    city: fields.text('city', { min: 1, max: 100 }),
    country: fields.text('country', { max: 2, pattern: /^[A-Z]{2}$/, form: 'a country code such as DE' }),
  }
}

function search(state: ShopState, fields: ShopFields): object {
  const text = fields.optional('q', () => fields.text('q', { max: 100 }))?.toLowerCase() ?? ''
  const paging = readPaging(fields)
  fields.done()
  const found = state.customers
    .all()
    .filter(customer => `${customer.name}\n${customer.email}`.toLowerCase().includes(text))
  return shopPageOf(
    found.sort((a, b) => a.name.localeCompare(b.name)),
    paging,
  )
}

type CustomerInput = Pick<Customer, 'name' | 'email' | 'phone' | 'addresses'>

function readCustomer(fields: ShopFields): CustomerInput {
  const input = {
    name: fields.text('name', { min: 1, max: 100 }),
    email: fields.email('email'),
    phone: fields.optional('phone', () => fields.text('phone', PHONE)) ?? null,
    addresses:
      fields.optional('addresses', () => fields.map('addresses', MAX_ADDRESSES, LABEL, readAddress)) ?? {},
  }
  fields.done()
  return input
}

function readPatch(fields: ShopFields): Partial<CustomerInput> {
  const patch: Partial<CustomerInput> = {}
  if (fields.has('name')) patch.name = fields.text('name', { min: 1, max: 100 })
  if (fields.has('email')) patch.email = fields.email('email')
  if (fields.has('phone')) patch.phone = fields.isNull('phone') ? null : fields.text('phone', PHONE)
  fields.needsSome()
  fields.done()
  return patch
}

function checkEmail(state: ShopState, email: string, own: string | undefined): void {
  const other = state.customers
    .all()
    .find(customer => customer.email.toLowerCase() === email.toLowerCase() && customer.id !== own)
  if (other !== undefined)
    throw shopConflict('email-taken', `Customer ${other.id} has this e-mail address already.`)
}

function setAddress(customer: Customer, label: string, address: Address): ShopResponse {
  if (!LABEL.test(label))
    throw shopInvalid([{ field: 'label', message: 'must be 1 to 20 lower-case letters, digits or hyphens' }])
  if (!Object.hasOwn(customer.addresses, label) && Object.keys(customer.addresses).length >= MAX_ADDRESSES)
    throw shopConflict('addresses-full', `A customer has at most ${MAX_ADDRESSES} addresses; replace one.`)
  return update(customer, { addresses: { ...customer.addresses, [label]: address } })
}

function update(customer: Customer, values: Partial<CustomerInput>): ShopResponse {
  Object.assign(customer, values)
  changed(customer)
  return { status: 200, body: customer }
}
