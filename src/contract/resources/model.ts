import * as z from 'zod/mini'
import { type Maybe, type Received, response } from './shapes.ts'

/** docs/interface.md, "Model". */
export interface Model extends Received {
  /** The value for the `model` field of a request. */
  id?: Maybe<string>
  /** Unix time in seconds. */
  created?: Maybe<number>
  /** `model`. */
  object?: Maybe<string>
  owned_by?: Maybe<string>
}

const model = response<Model>(() => ({
  id: z.string(),
  created: z.int(),
  object: z.string(),
  owned_by: z.string(),
}))

/** The response of GET /v1/chat/models (docs/interface.md, "Endpoints"). */
export interface ModelList extends Received {
  data?: Maybe<Model[]>
}

/** @internal */
export const modelList = response<ModelList>(() => ({ data: z.array(model) }))
