import * as z from 'zod/mini'

/**
 * What this service needs of a model server's answer; anything else that is odd or missing is left
 * out rather than a reason to refuse a good answer.
 */
const text = z.catch(z.optional(z.string()), undefined)
const count = z.catch(z.optional(z.pipe(z.number(), z.transform(Math.floor))), undefined)

export const modelList = z.looseObject({
  data: z.array(z.looseObject({ id: z.string(), created: count, owned_by: text })),
})

const choice = z.looseObject({
  message: z.looseObject({ role: text, content: z.nullish(z.string()) }),
  finish_reason: text,
  index: count,
})

const usage = z.looseObject({ prompt_tokens: count, completion_tokens: count, total_tokens: count })

export const completion = z.looseObject({
  created: count,
  model: text,
  usage: z.catch(z.optional(usage), undefined),
  choices: z.array(choice),
})
