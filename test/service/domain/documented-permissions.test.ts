import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect } from 'chai'
import { endpoints } from '../../../src/contract/endpoints.ts'
import {
  covers,
  effectivePermissions,
  requiredPermissions,
} from '../../../src/service/domain/access/permissions.ts'
import { openAiEndpoints, type ServedEndpointName } from '../../../src/service/openai-endpoints.ts'

const text = readFileSync(resolve(import.meta.dirname, '../../../docs/reference/service.md'), 'utf8')
const rows = [...text.matchAll(/^\| `(\w+:\w+)` \| (.*?) \| (.*?) ?\| (.*?) ?\| (.*?) ?\|$/gm)]

describe('the table of permissions in docs/reference/service.md', () => {
  it('has every endpoint, with the permission that it requires', () => {
    const documented = rows.flatMap(([, permission, list = '']) =>
      list.split(', ').map((endpoint) => `${endpoint.replaceAll('`', '')} ${permission}`),
    )
    const served = { ...endpoints, ...openAiEndpoints }
    const needed = Object.entries(served).map(
      ([name, { method, path }]) => `${method} ${path} ${requiredPermissions[name as ServedEndpointName]}`,
    )
    const place = 'Change the table in docs/reference/service.md'
    expect(documented.sort(), place).to.deep.equal(needed.sort())
  })

  it('states which role has which permission', () => {
    for (const [, permission = '', , ...marks] of rows) {
      const carried = ['admin', 'editor', 'member'].map((role) =>
        covers(effectivePermissions(role, []), permission),
      )
      expect(
        marks.map((mark) => mark === 'yes'),
        permission,
      ).to.deep.equal(carried)
    }
  })
})
