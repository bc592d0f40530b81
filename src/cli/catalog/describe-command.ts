import { endpoints } from '../../contract/endpoints.ts'
import { markText } from '../../contract/json-schema.ts'
import { dryRunChangeView, dryRunRequestView } from '../../view/dry-run.ts'
import type { View } from '../../view/format/view.ts'
import { effectOf, type Requests } from '../documented-requests.ts'
import { listedFlags, usagesOf } from '../help/command-page.ts'
import type { Declarations, DeclaredCommand, DeclaredFlag } from '../help/page.ts'
import { exitCodeMeanings } from '../help/topic-pages.ts'
import { outputSchema } from './output-schema.ts'

/** A command as the manifest has it, with what `BaseCommand` has it declare. */
export interface CatalogCommand extends DeclaredCommand {
  flags: Record<string, CatalogFlag>
  requests: Requests
  view?: View
  otherViews?: Readonly<Record<string, View>>
  nonInteractive?: readonly (readonly string[])[]
}

interface CatalogFlag extends DeclaredFlag {
  options?: readonly string[] | undefined
  exclusive?: readonly string[] | undefined
  dependsOn?: string[] | undefined
  env?: string | undefined
}

export function summarize(command: CatalogCommand) {
  const { id, summary = '' } = command
  return { name: id.replaceAll(':', ' '), effect: effectOf(command), summary }
}

/**
 * Everything that a program needs to run a command and to read its output.
 * @param permissions that the embedded service requires for the requests
 */
export function describeCommand(
  command: CatalogCommand,
  declarations: Declarations,
  permissions: readonly string[],
): object {
  const { description, args, flags, examples, requests, view, otherViews = {} } = command
  const { '--json': shown = view, ...others } = otherViews
  const yes = 'yes' in flags ? [['yes']] : []
  const schema = shown && markText(outputSchema(shown))
  return {
    ...summarize(command),
    description,
    usage: usagesOf(command),
    arguments: Object.values(args).map(({ name, description, required, multiple }) => {
      return { name: name.toUpperCase(), required, repeatable: multiple, summary: description }
    }),
    flags: listedFlags(command, declarations).map(describeFlag),
    non_interactive: [...yes, ...(command.nonInteractive ?? [])].map((names) => names.map(toFlag)),
    examples,
    requests: requests.calls.map((name) => `${endpoints[name].method} ${endpoints[name].path}`),
    requests_note: requests.note,
    permissions,
    exit_codes: exitCodesOf(command),
    schema,
    other_schemas: Object.entries({
      ...('dry-run' in flags && {
        '--dry-run': requests.calls.length > 0 ? dryRunRequestView : dryRunChangeView,
      }),
      ...others,
    }).map(([given, view]) => {
      const other = markText(outputSchema(view))
      // Without a request to hold back, the result is the usual one.
      return { with: given, schema: view === dryRunRequestView ? { anyOf: [other, schema ?? {}] } : other }
    }),
  }
}

function describeFlag(flag: CatalogFlag): object {
  const { name, char, type, helpValue, options, exclusive, dependsOn } = flag
  const value = [helpValue].flat()[0]
  const kinds: Readonly<Record<string, string>> = { N: 'integer', NUMBER: 'number' }
  return {
    name: toFlag(name),
    short: char && `-${char}`,
    negation: flag.allowNo ? `--no-${name}` : undefined,
    type: type === 'boolean' ? type : (kinds[value ?? ''] ?? 'string'),
    value: type === 'boolean' ? undefined : value,
    values: options ?? (/^[a-z]+(\|[a-z]+)+$/.test(value ?? '') ? value?.split('|') : undefined),
    default: flag.default,
    required: flag.required || undefined,
    repeatable: flag.multiple || undefined,
    requires: dependsOn?.length ? dependsOn.map(toFlag) : undefined,
    excludes: exclusive?.length ? exclusive.map(toFlag) : undefined,
    variable: flag.env,
    summary: flag.summary,
  }
}

function toFlag(name: string): string {
  return `--${name}`
}

/** Those that the declarations of a command allow. */
function exitCodesOf({ id, flags, requests: { calls, opensData } }: CatalogCommand): object[] {
  const mayConnect = calls.length > 0 || opensData || /^(api|auth|service)\b/.test(id)
  const impossible = [
    ...(mayConnect ? [] : ['4', '5', '69', '75']),
    ...(calls.includes('createCompletion') ? [] : ['8']),
    ...('concurrency' in flags ? [] : ['9']),
    ...('exit-code' in flags ? [] : ['10']),
    ...(id === 'exec' ? [] : ['126', '127']),
  ]
  const possible = exitCodeMeanings.filter(([code]) => !impossible.includes(code))
  return possible.map(([code, meaning]) => ({ code: Number(code), meaning }))
}
