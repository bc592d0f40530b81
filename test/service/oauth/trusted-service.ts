import type { Administration } from '../../../src/service/administration/administration.ts'
import { openAdministration } from '../../../src/service/administration/administration.ts'
import {
  type AuthorizationServer,
  openIdMetadata,
  startAuthorizationServer,
} from '../../support/authorization-server.ts'
import { closing } from '../../support/lifetime.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'
import type { TemporaryService, WithService } from '../temporary-service.ts'
import { askForToken, type TokenResponse } from './flow.ts'

export const audience = 'https://chat.example'
export const mainBranch = 'repo:acme/app:ref:refs/heads/main'

const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange'
const idTokenType = 'urn:ietf:params:oauth:token-type:id_token'
export const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

type TrustRequest = Parameters<Administration['createTrust']>[0]

/** A service that may trust an issuer. */
export interface TrustedService {
  service: TemporaryService
  issuer: AuthorizationServer
  administration: Administration
  clock: SteppedClock
  /** Creates a trust in the main branch, which may read settings. */
  trust(changes?: Partial<TrustRequest>): ReturnType<Administration['createTrust']>
  /** A token of the main branch. Default: for the audience of the trust. */
  identity(claims?: object): Promise<string>
  exchange(token: string, fields?: Record<string, string>): Promise<TokenResponse>
}

export const exchangeAt = (url: string, token: string, fields: Record<string, string> = {}) =>
  askForToken(url, {
    ...{ grant_type: tokenExchange, subject_token: token, subject_token_type: idTokenType, ...fields },
  })

export async function withTrustedService(
  withService: WithService,
  use: (place: TrustedService) => Promise<void>,
  options: Parameters<WithService>[1] = {},
): Promise<void> {
  const clock = new SteppedClock()
  await using issuer = await startAuthorizationServer({
    metadataPath: openIdMetadata,
    now: () => clock.now(),
  })
  await withService(
    async (service) => {
      await using administration = closing(await openAdministration(service.place, clock))
      await use({
        service,
        issuer,
        administration,
        clock,
        trust: (changes) =>
          administration.createTrust({
            ...{ name: 'deploy', issuer: issuer.url, audience, subject: mainBranch },
            ...{ permissions: ['read:settings'], tier: 'pro', ...changes },
          }),
        identity: (claims) => issuer.sign({ sub: mainBranch, aud: audience, ...claims }),
        exchange: (token, fields) => exchangeAt(service.url, token, fields),
      })
    },
    { ...options, clock },
  )
}
