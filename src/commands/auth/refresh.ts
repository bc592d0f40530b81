import type { TokenSet } from '../../auth/credentials/stored-credential.ts'
import { BaseCommand } from '../../cli/base-command.ts'
import { commandLine } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { warnOfUnsaved } from '../../cli/context/credentials.ts'
import type { RemoteTarget } from '../../cli/context/target.ts'
import { noCredential } from '../../cli/credential/credential-in-use.ts'
import { calls } from '../../cli/documented-requests.ts'
import { textFlag } from '../../cli/flags/flag-types.ts'
import { dryRunFlag } from '../../cli/flags/shared-flags.ts'
import { Failure } from '../../contract/failure.ts'
import { refreshView } from '../../view/auth.ts'

export default class AuthRefresh extends BaseCommand {
  static override summary = 'Renew the tokens of a sign-in now'
  static override description =
    'Other commands renew a token when it is about to expire, so this is only needed to change its scope, or before a long time without the authorization server. A scope applies to later renewals too.'
  static override requests = {
    ...calls(),
    note: 'none to the service; the token is renewed at its authorization server.',
  }
  static override view = refreshView
  static override examples = BaseCommand.toExamples({
    'Renew the tokens': 'chatctl auth refresh',
    'Continue with fewer permissions': 'chatctl auth refresh --profile work --scope chat:read',
  })
  static override flags = {
    scope: textFlag({
      helpValue: 'SCOPE',
      summary: 'Scope of the new token, within that of the sign-in (default: as before)',
    }),
    'dry-run': dryRunFlag,
  }

  async run(): Promise<void> {
    const { flags, context } = await this.start(AuthRefresh)
    const { target, tokens } = await readTokens(context)
    const { profile, baseUrl } = target
    const scope = flags.scope?.trim()
    if (context.dryRun) {
      const { token_endpoint: endpoint } = tokens
      return this.showLocalChange({ refresh: profile, token_endpoint: endpoint, ...(scope && { scope }) })
    }
    const renewed = await renew(context, target, tokens, scope)
    const { expires_at = null, scope: granted = null } = renewed
    const shown = { profile, base_url: baseUrl, expires_at, scope: granted }
    await context.output.show(refreshView, shown)
  }
}

/** @throws Failure `usage` for a credential that cannot be renewed, `unauthorized` without one */
async function readTokens(context: Context) {
  const { credentials, signal } = context
  const target = context.target()
  if (target.kind === 'local') throw new Failure('usage', 'The embedded service needs no sign-in')
  const { fromEnvironment, identity, command } = target
  if (fromEnvironment || identity || command !== undefined) {
    const source = fromEnvironment?.source ?? (identity ? 'CHATCTL_OIDC' : 'the credential command')
    throw new Failure('usage', `The credential comes from ${source}, so it cannot be refreshed`)
  }
  const { profile } = target
  if (profile === undefined) throw noCredential(target)
  const tokens = await credentials.stores
    .ofProfile(profile)
    .read(credentials.stores.ownerOf(profile, target.baseUrl), signal)
  if (!tokens) throw noCredential(target)
  if (tokens.kind === 'api_key') {
    throw new Failure('usage', `Profile "${profile}" has an API key, which cannot be refreshed`, {
      hint: `To replace it with a new key, sign in with: ${commandLine('auth', 'login', '--profile', profile, '--with-api-key')}`,
    })
  }
  if (tokens.refresh_token === undefined) {
    throw new Failure('unauthorized', `The sign-in of profile "${profile}" has no refresh token`, {
      advice: [{ code: 'sign_in_again', profile }],
    })
  }
  return { target: { ...target, profile }, tokens }
}

async function renew(
  { directories, credentials: { stores }, transport, output }: Context,
  { profile, baseUrl }: RemoteTarget & { profile: string },
  tokens: TokenSet,
  scope: string | undefined,
): Promise<TokenSet> {
  const { renewTokens } = await import('../../auth/renew-tokens.ts')
  let unsaved: Failure | undefined
  const renewed = await renewTokens({
    directories,
    owner: stores.ownerOf(profile, baseUrl),
    store: stores.ofProfile(profile),
    held: tokens,
    rejected: tokens.access_token,
    scope,
    transport,
    onUnsaved: async (failure, isSpent) => {
      unsaved = failure
      await warnOfUnsaved(output, profile)(failure, isSpent)
    },
  })
  if (unsaved) throw unsaved
  if (renewed.kind === 'oauth') return renewed
  // Another process has signed in with an API key in the meantime.
  throw new Failure('conflict', `Profile "${profile}" has an API key now`)
}
