import { BooleanField, DateTimeField, EnumField, IntField, TextField } from '../fields';

/** The names of RFC 8628, which programs for such sign-ins know. */
export class BeginDeviceLoginBody {
  @TextField({ optional: true, max: 100, example: 'muster' }) client_id?: string;
  @TextField({
    optional: true,
    max: 100,
    visible: true,
    example: 'muster on front-desk-3',
    description: 'What the page shows, and what the API key is named.',
  })
  device_name?: string;
}

export class DeviceCodes {
  @TextField({ example: 'mdl_…', description: 'What the program asks for its key with; shown to nobody.' })
  device_code!: string;
  @TextField({ example: 'BKWT-RMXQ', description: 'What a person types on the page, or compares with it.' })
  user_code!: string;
  @TextField({ example: 'https://muster.example.com/app/device' }) verification_uri!: string;
  @TextField({ example: 'https://muster.example.com/app/device?code=BKWT-RMXQ' }) verification_uri_complete!: string;
  @IntField({ example: 600, description: 'Seconds that both codes are good for.' }) expires_in!: number;
  @IntField({ example: 5, description: 'Seconds between two questions for the key, at least.' }) interval!: number;
}

const deviceGrant = ['urn:ietf:params:oauth:grant-type:device_code'] as const;

export class DeviceTokenBody {
  @EnumField(deviceGrant, { optional: true }) grant_type?: (typeof deviceGrant)[number];
  @TextField({ max: 200, example: 'mdl_…' }) device_code!: string;
  @TextField({ optional: true, max: 100, example: 'muster' }) client_id?: string;
}

export class DeviceToken {
  @TextField({ example: 'msk_k3v9x2m4q8w1_…', description: 'An API key. Shown this once.' }) access_token!: string;
  @TextField({ example: 'Bearer' }) token_type!: string;
  @IntField({
    optional: true,
    example: 7_776_000,
    description: 'Seconds that the key is good for, where the organization’s keys expire.',
  })
  expires_in?: number;
}

export class DeviceLoginQuery {
  @TextField({ max: 20, example: 'BKWT-RMXQ' }) userCode!: string;
}

/** A program that waits for somebody to let it in. */
export class DeviceLogin {
  @TextField({ example: 'BKWT-RMXQ' }) userCode!: string;
  @TextField({ visible: true, example: 'muster on front-desk-3' }) deviceName!: string;
  @TextField({ example: '203.0.113.7', description: 'Where it asked from.' }) address!: string;
  @DateTimeField() askedAt!: string;
  @DateTimeField() expiresAt!: string;
}

export class AnswerDeviceLoginBody extends DeviceLoginQuery {
  @BooleanField() allow!: boolean;
}
