/** Provider, model, USD for a million input and output tokens, and the day from which the price applies. */
type ShippedPrice = [provider: string, model: string, inputUsd: number, outputUsd: number, from: string];

/**
 * List prices of the large providers for their current models, as published on 2025-11-20. They apply until a
 * super_admin replaces the default list. To update them, replace the rows and this date.
 */
export const shippedModelPrices: readonly ShippedPrice[] = [
  ['openai', 'gpt-5.1', 1.25, 10, '2025-11-13'],
  ['openai', 'gpt-5', 1.25, 10, '2025-08-07'],
  ['openai', 'gpt-5-mini', 0.25, 2, '2025-08-07'],
  ['openai', 'gpt-5-nano', 0.05, 0.4, '2025-08-07'],
  ['openai', 'gpt-4.1', 2, 8, '2025-04-14'],
  ['openai', 'gpt-4.1-mini', 0.4, 1.6, '2025-04-14'],
  ['openai', 'gpt-4.1-nano', 0.1, 0.4, '2025-04-14'],
  ['openai', 'gpt-4o', 2.5, 10, '2024-10-02'],
  ['openai', 'gpt-4o-mini', 0.15, 0.6, '2024-07-18'],
  ['openai', 'o3', 2, 8, '2025-06-10'],
  ['openai', 'o3-mini', 1.1, 4.4, '2025-01-31'],
  ['openai', 'o4-mini', 1.1, 4.4, '2025-04-16'],
  ['openai', 'computer-use-preview', 3, 12, '2025-03-11'],
  ['anthropic', 'claude-opus-4-1', 15, 75, '2025-08-05'],
  ['anthropic', 'claude-sonnet-4-5', 3, 15, '2025-09-29'],
  ['anthropic', 'claude-haiku-4-5', 1, 5, '2025-10-15'],
  ['anthropic', 'claude-opus-4', 15, 75, '2025-05-22'],
  ['anthropic', 'claude-sonnet-4', 3, 15, '2025-05-22'],
  ['anthropic', 'claude-3-7-sonnet', 3, 15, '2025-02-24'],
  ['anthropic', 'claude-3-5-haiku', 0.8, 4, '2024-11-04'],
  ['google', 'gemini-3-pro-preview', 2, 12, '2025-11-18'],
  ['google', 'gemini-2.5-pro', 1.25, 10, '2025-06-17'],
  ['google', 'gemini-2.5-flash', 0.3, 2.5, '2025-06-17'],
  ['google', 'gemini-2.5-flash-lite', 0.1, 0.4, '2025-07-22'],
  ['google', 'gemini-2.0-flash', 0.1, 0.4, '2025-02-05'],
  ['google', 'gemini-2.0-flash-lite', 0.075, 0.3, '2025-02-25'],
  ['mistral', 'mistral-large-latest', 2, 6, '2024-11-18'],
  ['mistral', 'mistral-medium-latest', 0.4, 2, '2025-05-07'],
  ['mistral', 'mistral-small-latest', 0.1, 0.3, '2025-03-17'],
  ['amazon', 'nova-pro', 0.8, 3.2, '2024-12-03'],
  ['amazon', 'nova-lite', 0.06, 0.24, '2024-12-03'],
  ['amazon', 'nova-micro', 0.035, 0.14, '2024-12-03'],
  ['xai', 'grok-4', 3, 15, '2025-07-09'],
  ['xai', 'grok-3-mini', 0.3, 0.5, '2025-04-09'],
  ['deepseek', 'deepseek-chat', 0.28, 0.42, '2025-09-29'],
  ['deepseek', 'deepseek-reasoner', 0.28, 0.42, '2025-09-29'],
];
