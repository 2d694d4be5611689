import { BaseConfig, type ChecksItself, EnvInt, EnvText, EnvUrl } from '@muster/platform';
import type { ModelEndpoint } from './model';

/** Which language model the deployment has. Without one what needs a model answers 503 model_not_configured. */
export class ModelsConfig extends BaseConfig implements ChecksItself {
  @EnvUrl('MODEL_BASE_URL', {
    description: 'An OpenAI-compatible API with its version path, such as https://api.openai.com/v1.',
    protocols: ['http:', 'https:'],
    optional: true,
  })
  readonly modelBaseUrl?: string;

  @EnvText('MODEL_API_KEY', {
    description: 'As whom it is called; absent for a server that asks nobody.',
    optional: true,
    secret: true,
  })
  readonly modelApiKey?: string;

  @EnvText('MODEL_NAME', { description: 'Which model; belongs to MODEL_BASE_URL.', optional: true })
  readonly modelName?: string;

  @EnvText('MODEL_VISION_NAME', {
    description: 'Which model is asked about pictures; MODEL_NAME unless said.',
    optional: true,
  })
  readonly modelVisionName?: string;

  @EnvInt('MODEL_TIMEOUT_MS', {
    description: 'A model that says nothing for so long is given up; also one that an organization has of its own.',
    default: 60_000,
    min: 50,
  })
  readonly modelTimeoutMs!: number;

  @EnvInt('MODEL_MAX_CONCURRENT', {
    description: 'Calls that one process has under way at one model; others wait for their turn.',
    default: 8,
    min: 1,
  })
  readonly modelMaxConcurrent!: number;

  /** Null where there is none. */
  get model(): ModelEndpoint | null {
    const { modelBaseUrl: baseUrl, modelName: name, modelVisionName, modelApiKey } = this;
    if (!baseUrl || !name) return null;
    return { baseUrl, name, visionName: modelVisionName ?? name, apiKey: modelApiKey ?? 'none' };
  }

  faults(): string[] {
    return Boolean(this.modelBaseUrl) === Boolean(this.modelName)
      ? []
      : ['MODEL_BASE_URL and MODEL_NAME belong together'];
  }
}
