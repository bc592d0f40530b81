import { Failure } from '../contract/failure.ts'

/** Models by their short names in a profile. */
export type ModelAliases = Readonly<Record<string, string>>

const prefix = 'alias.'

export function aliasKey(alias: string): string {
  return prefix + alias
}

/**
 * The alias that a configuration key names; undefined for any other key.
 * @throws Failure `usage` for an invalid name
 */
export function aliasOf(key: string): string | undefined {
  if (!key.startsWith(prefix)) return undefined
  const alias = key.slice(prefix.length)
  if (alias.length <= 64 && /^[A-Za-z0-9][\w.-]*$/.test(alias)) return alias
  throw new Failure('usage', `"${alias}" is not a valid alias`, {
    hint: 'Use at most 64 characters: letters, digits, and . _ -. The first must be a letter or a digit.',
  })
}

/**
 * The aliases with one more. An alias names a model, not another alias.
 * @throws Failure `usage` for the name of an alias in place of a model
 */
export function withAlias(aliases: ModelAliases, alias: string, model: string): ModelAliases {
  if (!Object.hasOwn(aliases, model)) return { ...aliases, [alias]: model }
  throw new Failure('usage', `${aliasKey(alias)}: "${model}" is an alias, not a model`, {
    hint: `Use the model of the alias: ${aliases[model]}`,
  })
}

/** An alias takes precedence over a model with the same name. */
export function resolveAlias(model: string, aliases: ModelAliases): string {
  return Object.hasOwn(aliases, model) ? (aliases[model] ?? model) : model
}
