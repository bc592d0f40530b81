// biome-ignore-all lint/suspicious/noTemplateCurlyInString: settings files have such references

import fc from 'fast-check'
import { nest } from '../../src/contract/notation/tree.ts'
import type {
  ApiConfiguration,
  ApplicationSettings,
  SettingsPatch,
} from '../../src/contract/resources/settings.ts'
import { valuesOf } from '../../src/settings/plan.ts'
import { codePoint } from '../support/code-point.ts'

/** Any text, including texts that are special in YAML or in a settings file. */
const text = fc.oneof(
  fc.string({ unit: codePoint, maxLength: 12 }).filter((value) => value.isWellFormed()),
  fc.constantFrom(
    '',
    'null',
    'true',
    '12',
    '~',
    '#3366FF',
    'a: b',
    '${HOME}',
    '$${',
    'on',
    '- x',
    ' x ',
    '\n',
  ),
)
const color = fc
  .array(fc.constantFrom(...'0123456789abcdefABCDEF'), { minLength: 6, maxLength: 6 })
  .map((digits) => `#${digits.join('')}`)

/** All documented settings. */
export const anySettings: fc.Arbitrary<ApplicationSettings> = fc.record({
  app_name: text,
  theme: fc.record({ primary_color: color, mode: text }),
  features: fc.record({ chat: fc.boolean(), file_upload: fc.boolean(), code_completion: fc.boolean() }),
  limits: fc.record({ max_tokens: fc.maxSafeInteger(), max_requests_per_min: fc.integer() }),
})

export const anyConfiguration: fc.Arbitrary<ApiConfiguration> = fc.record({
  version: text,
  rate_limiting: fc.record({ enabled: fc.boolean(), requests_per_minute: fc.integer() }),
  cors: fc.record({
    allowed_origins: fc.array(text, { maxLength: 3 }),
    allowed_methods: fc.array(fc.constantFrom('GET', 'POST', 'PATCH'), { maxLength: 3 }),
  }),
})

/** At least one of the leaves of the value. */
export function anySubset<T extends object>(whole: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return whole.chain((value) =>
    fc.subarray([...valuesOf(value)], { minLength: 1 }).map((leaves) => nest(new Map(leaves)) as T),
  )
}

export const anyPatch: fc.Arbitrary<SettingsPatch> = anySubset(anySettings as fc.Arbitrary<SettingsPatch>)

export const someSettings: ApplicationSettings = {
  app_name: 'Chat',
  theme: { primary_color: '#3366FF', mode: 'light' },
  features: { chat: true, file_upload: false, code_completion: false },
  limits: { max_tokens: 4096, max_requests_per_min: 60 },
}
