import { statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import { maxPemBytes, readNamedFile } from '../../system/files/read-named-file.ts'
import { commandFor } from '../command-line.ts'
import type { BaseContext } from './base-context.ts'

/** What a plan can be for. */
type Subject = 'settings' | 'users'

/** With the option `approvers`, only a plan with the signature of an approver changes settings and users. */
export class PlanApproval {
  readonly #base: BaseContext
  #isApproved = false

  constructor(base: BaseContext) {
    this.#base = base
  }

  /** @throws Failure `input_needed` if a change requires an approved plan, and the run has none */
  demand(subject: Subject, what = 'A direct change'): void {
    const { options, dryRun } = this.#base
    const { value, from } = options.approvers
    if (value === undefined || this.#isApproved || dryRun) return
    const save = commandFor(this.#base, subject, 'diff', 'FILE', '--save', 'PLAN')
    const apply = commandFor(this.#base, subject, 'apply', 'PLAN')
    throw new Failure('input_needed', `${what} is refused, because ${from} requires approved plans`, {
      code: 'approval_required',
      hint: `Save a plan with: ${save}. After it is approved (chatctl plan approve), apply it with: ${apply}`,
    })
  }

  /**
   * Verifies the signature of a plan, after which the run may apply it. Does nothing without `approvers`.
   * @param more a flag with which more than the plan would be sent
   * @throws Failure `refused` as `verifySignature`; `config` if the file of the approvers cannot be used
   */
  async verify(plan: { name: string; text: string }, subject: Subject, more?: string): Promise<void> {
    const { value } = this.#base.options.approvers
    if (value === undefined) return
    if (more !== undefined) this.demand(subject, more)
    const refusal = await this.checkSignature(plan, value)
    if (refusal) throw refusal
    this.#isApproved = true
  }

  /** Says who has approved a plan. @returns why its signature is refused by a file of approvers, if there is one */
  async checkSignature(plan: { name: string; text: string }, file: string | undefined) {
    const { resolvePath, host, signal, output } = this.#base
    const { env, cwd, clock, untilEnded } = host
    if (file === undefined) return undefined
    try {
      const approvers = resolve(resolvePath(file))
      const here = resolve(resolvePath('.'))
      // In a container of a CI job, the checkout belongs to another user.
      const isHere = `${approvers}/`.startsWith(`${here}/`) || `${here}/`.startsWith(`${dirname(approvers)}/`)
      readNamedFile(approvers, {
        ...{ name: `The approvers file ${approvers}`, maxBytes: maxPemBytes, isSecret: true, kind: 'config' },
        owner: isHere ? statSync(here).uid : undefined,
      })
      const { verifySignature } = await import('../../system/ssh-signature.ts')
      const running = { env, cwd, clock, untilEnded, signal }
      const who = await verifySignature(plan, `${resolvePath(plan.name)}.sig`, approvers, running)
      output.notice(`${plan.name} is approved by ${who}.`)
    } catch (error) {
      if (error instanceof Failure) return error
      throw error
    }
  }
}
