import { BooleanField, DateTimeField, EmailField, TextField, UuidField } from '../fields';
import { userRole } from './own-roles';
import { passwordLength } from './users';

const sendsMail = 'Whether the service can send mail. If false, the operator has configured no mail relay (SMTP_URL).';
const token = {
  min: 1,
  max: 200,
  example: 'mal_0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e_…',
  description: 'Token of the link.',
};

export class ForgotBody {
  @EmailField({ example: 'dana@example.com' }) email!: string;
}

export class ForgotAnswer {
  @BooleanField({
    example: true,
    description: `${sendsMail} An admin of the organization then sets the new password.`,
  })
  sendsMail!: boolean;
}

export class ResetPasswordBody {
  @TextField(token) token!: string;
  @TextField({ ...passwordLength, example: 'staple battery horse' }) password!: string;
}

export class CreateInvitationBody {
  @EmailField({ example: 'dana@example.com' }) email!: string;
  @TextField(userRole) role!: string;
}

export class Invitation {
  @UuidField() id!: string;
  @EmailField({ example: 'dana@example.com' }) email!: string;
  @TextField(userRole) role!: string;
  @TextField({
    example: 'https://muster.example.com/app/invitation#token=mal_…',
    description: 'Link on which the person chooses a password. No later response contains the link.',
  })
  link!: string;
  @DateTimeField() expiresAt!: string;
  @BooleanField({ example: true, description: `${sendsMail} Then send the link yourself.` }) sendsMail!: boolean;
}

export class AcceptInvitationBody {
  @TextField(token) token!: string;
  @TextField({ ...passwordLength, example: 'correct horse battery' }) password!: string;
}

export class AcceptedInvitation {
  @EmailField({ example: 'dana@example.com', description: 'Email address to sign in with.' }) email!: string;
}
