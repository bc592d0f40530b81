import { durationFlag, requiredArgument, textFlag, textListFlag } from '../../../cli/flags/flag-types.ts'
import { trustView } from '../../../view/service.ts'
import { changeFlags, ServiceCommand } from '../service-command.ts'
import { keyFlags, planned, tierFlag } from '../service-flags.ts'

export default class ServiceTrustCreate extends ServiceCommand {
  static override summary = 'Trust the identity tokens of CI jobs'
  static override description =
    'A CI job with a matching identity token gets a short-lived access token. In the subject, * matches any characters except a colon, and ** any characters.'
  static override view = trustView
  static override examples = ServiceCommand.toExamples({
    'Let the jobs of one environment change the settings':
      "chatctl service trust create deploy --issuer https://ci.example --audience https://chat.example --subject repo:acme/app:environment:prod --permission '*:settings'",
    'Let the jobs of every branch chat for 5 minutes':
      "chatctl service trust create review --issuer https://ci.example --audience https://chat.example --subject 'repo:acme/app:ref:refs/heads/*' --permission '*:chat' --expires 5m",
  })
  static override args = { name: requiredArgument('Name of the trust') }
  static override flags = {
    issuer: textFlag({ helpValue: 'URL', required: true, summary: 'Claim "iss" of the identity tokens' }),
    audience: textFlag({ helpValue: 'TEXT', required: true, summary: 'Claim "aud" of the identity tokens' }),
    subject: textFlag({
      helpValue: 'PATTERN',
      required: true,
      summary: 'Claim "sub", with * and ** as wildcards',
    }),
    permission: textListFlag({ helpValue: 'PERM', required: true, summary: 'Permission, such as read:chat' }),
    expires: durationFlag({
      helpValue: 'DURATION',
      summary: 'Lifetime of access tokens, 1m to 1h (default: 15m)',
    }),
    tier: tierFlag,
    limit: keyFlags.limit,
    user: textFlag({
      helpValue: 'USER',
      summary: 'User that jobs act as: ID or email address (default: the built-in admin)',
    }),
    ...changeFlags,
  }

  async run(): Promise<void> {
    const { args, flags, context, administration } = await this.startOnData(ServiceTrustCreate)
    const { issuer, audience, subject, permission, expires, tier, limit, user } = flags
    const request = {
      name: args.name,
      issuer,
      audience,
      subject,
      permissions: permission,
      expiresIn: expires === undefined ? undefined : expires / 1000,
      tier,
      limit,
      user,
    }
    const created = await administration.createTrust(request)
    if (context.dryRun) return this.showLocalChange({ create: planned(created) })
    await context.output.show(trustView, created)
  }
}
