import { TextField, UrlField } from '../fields';

export class PutOrganizationModelBody {
  @UrlField({
    example: 'https://api.openai.com/v1',
    description: 'An OpenAI-compatible API with its version path, at a public address.',
  })
  baseUrl!: string;
  @TextField({ max: 200, example: 'gpt-4.1-mini' }) name!: string;
  @TextField({ max: 200, optional: true, description: 'Which model is asked about pictures; `name` unless said.' })
  visionName?: string;
  @TextField({ max: 128, example: 'MODEL_API_KEY', description: 'The vault’s secret that it is called with.' })
  apiKeyVaultKey!: string;
}

export class OrganizationModel {
  @UrlField() baseUrl!: string;
  @TextField({ example: 'gpt-4.1-mini' }) name!: string;
  @TextField({ nullable: true }) visionName!: string | null;
  @TextField({ example: 'MODEL_API_KEY', description: 'The secret’s name; its value is never shown.' })
  apiKeyVaultKey!: string;
}
