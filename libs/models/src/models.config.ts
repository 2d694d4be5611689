import { BaseConfig, type ChecksItself, EnvInt, EnvText, EnvUrl } from '@muster/platform';
import type { ModelEndpoint } from './model';

/**
 * The deployment's language model. Without one, operations that need a model fail with 503 model_not_configured unless
 * the organization has its own.
 */
export class ModelsConfig extends BaseConfig implements ChecksItself {
  @EnvUrl('MODEL_BASE_URL', {
    description:
      'Base URL of an OpenAI-compatible API with its version path, such as https://api.openai.com/v1. Requires ' +
      'MODEL_NAME.',
    protocols: ['http:', 'https:'],
    optional: true,
  })
  readonly modelBaseUrl?: string;

  @EnvText('MODEL_API_KEY', {
    description: 'API key for MODEL_BASE_URL. Leave it out for a server that needs none.',
    optional: true,
    secret: true,
  })
  readonly modelApiKey?: string;

  @EnvText('MODEL_NAME', { description: 'Name of the language model. Requires MODEL_BASE_URL.', optional: true })
  readonly modelName?: string;

  @EnvText('MODEL_VISION_NAME', {
    description: 'Name of the model for questions about images. If absent, MODEL_NAME is used.',
    optional: true,
  })
  readonly modelVisionName?: string;

  @EnvInt('MODEL_TIMEOUT_MS', {
    description:
      'Milliseconds without output after which a model call is aborted. A whole answer can take ten times as long. ' +
      'Both limits also apply to an organization’s own model.',
    default: 60_000,
    min: 50,
  })
  readonly modelTimeoutMs!: number;

  @EnvInt('MODEL_MAX_CONCURRENT', {
    description: 'Maximum number of concurrent calls of one process to one model. Further calls wait for their turn.',
    default: 8,
    min: 1,
  })
  readonly modelMaxConcurrent!: number;

  /** The model of the service; null if no model is configured. */
  get modelEndpoint(): ModelEndpoint | null {
    const { modelBaseUrl: baseUrl, modelName: name, modelVisionName, modelApiKey } = this;
    if (!baseUrl || !name) return null;
    return { baseUrl, name, visionName: modelVisionName ?? name, apiKey: modelApiKey ?? 'none' };
  }

  findFaults(): string[] {
    return Boolean(this.modelBaseUrl) === Boolean(this.modelName)
      ? []
      : ['MODEL_BASE_URL and MODEL_NAME belong together; set both or neither'];
  }
}
