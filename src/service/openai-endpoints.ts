import { type EndpointName, endpoints } from '../contract/endpoints.ts'

/** The endpoints for clients of OpenAI's API. The interface does not have them. `{id}` may contain slashes. */
export const openAiEndpoints = {
  openAiCompletion: { method: 'POST', path: '/openai/v1/chat/completions' },
  openAiModels: { method: 'GET', path: '/openai/v1/models' },
  openAiModel: { method: 'GET', path: '/openai/v1/models/{id}' },
} as const

/** An endpoint of the interface, or one for OpenAI clients. */
export type ServedEndpointName = EndpointName | keyof typeof openAiEndpoints

export const isOfInterface = (name: ServedEndpointName): name is EndpointName => name in endpoints

/** Whether the path of a URL, which may have a query, is one for OpenAI clients. */
export const isOpenAiPath = (url: string): boolean => /^\/openai(\/|\?|$)/.test(url)
