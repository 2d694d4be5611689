import { TextField, UrlField } from '../fields';

export class PutOrganizationModelBody {
  @UrlField({
    example: 'https://api.openai.com/v1',
    description: 'URL of an OpenAI-compatible API, including its version path, at a public address.',
  })
  baseUrl!: string;
  @TextField({ max: 200, example: 'gpt-4.1-mini' }) name!: string;
  @TextField({
    max: 200,
    optional: true,
    description: 'Name of the model that is used for images; the value of `name` if absent.',
  })
  visionName?: string;
  @TextField({
    max: 128,
    example: 'MODEL_API_KEY',
    description: 'Name of the vault secret that contains the API key of the model.',
  })
  apiKeyVaultKey!: string;
}

export class OrganizationModel {
  @UrlField() baseUrl!: string;
  @TextField({ example: 'gpt-4.1-mini' }) name!: string;
  @TextField({ nullable: true }) visionName!: string | null;
  @TextField({
    example: 'MODEL_API_KEY',
    description:
      'Name of the vault secret that contains the API key of the model. The value of the secret is never returned.',
  })
  apiKeyVaultKey!: string;
}
