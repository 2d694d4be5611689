import { BooleanField, DateTimeField, EnumField, IntField, TextField } from '../fields';

/** The field names follow RFC 8628, so that existing OAuth clients work. */
export class BeginDeviceLoginBody {
  @TextField({ optional: true, max: 100, example: 'muster' }) client_id?: string;
  @TextField({
    optional: true,
    max: 100,
    visible: true,
    example: 'muster on front-desk-3',
    description: 'Name of the program, shown on the confirmation page and used as the name of the API key.',
  })
  device_name?: string;
}

export class DeviceCodes {
  @TextField({
    example: 'mdl_…',
    description: 'Code with which the program polls POST /api/auth/device/token for its API key. Keep it secret.',
  })
  device_code!: string;
  @TextField({
    example: 'BKWT-RMXQ',
    description:
      'Code that the program shows. The user enters it on the confirmation page, or compares it with the code there.',
  })
  user_code!: string;
  @TextField({ example: 'https://muster.example.com/app/device' }) verification_uri!: string;
  @TextField({ example: 'https://muster.example.com/app/device?code=BKWT-RMXQ' }) verification_uri_complete!: string;
  @IntField({ example: 600, description: 'Number of seconds for which both codes are valid.' }) expires_in!: number;
  @IntField({ example: 5, description: 'Minimum number of seconds between two polls.' }) interval!: number;
}

const deviceGrant = ['urn:ietf:params:oauth:grant-type:device_code'] as const;

export class DeviceTokenBody {
  @EnumField(deviceGrant, { optional: true }) grant_type?: (typeof deviceGrant)[number];
  @TextField({ max: 200, example: 'mdl_…' }) device_code!: string;
  @TextField({ optional: true, max: 100, example: 'muster' }) client_id?: string;
}

export class DeviceToken {
  @TextField({
    example: 'msk_k3v9x2m4q8w1_…',
    description: 'API key of the program. The program must store the key, because no later response contains it.',
  })
  access_token!: string;
  @TextField({ example: 'Bearer' }) token_type!: string;
  @IntField({
    optional: true,
    example: 7_776_000,
    description: 'Number of seconds for which the key is valid. Absent if the key does not expire.',
  })
  expires_in?: number;
}

export class DeviceLoginQuery {
  @TextField({ max: 20, example: 'BKWT-RMXQ' }) userCode!: string;
}

/** A program that waits for a user to allow its sign-in. */
export class DeviceLogin {
  @TextField({ example: 'BKWT-RMXQ' }) userCode!: string;
  @TextField({ visible: true, example: 'muster on front-desk-3' }) deviceName!: string;
  @TextField({ example: '203.0.113.7', description: 'IP address of the program.' }) address!: string;
  @DateTimeField() askedAt!: string;
  @DateTimeField() expiresAt!: string;
}

export class AnswerDeviceLoginBody extends DeviceLoginQuery {
  @BooleanField() allow!: boolean;
}
