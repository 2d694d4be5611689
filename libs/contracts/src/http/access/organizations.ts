import {
  BooleanField,
  DateTimeField,
  EmailField,
  ListField,
  ObjectField,
  TextField,
  TextListField,
  UuidField,
} from '../fields';
import { IdentityUser } from './auth';
import { passwordLength } from './users';

export class Organization {
  @UuidField() id!: string;
  @TextField({ example: 'Northside Dental' }) name!: string;
  @BooleanField({ example: false }) suspended!: boolean;
  @TextListField({ max: 253, example: ['northside.example'], description: 'Proved email domains of the organization.' })
  domains!: string[];
  @DateTimeField() createdAt!: string;
}

export class OrganizationList {
  @ListField(() => Organization) organizations!: Organization[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class CreateOrganizationBody {
  @TextField({ visible: true, example: 'Southside Dental' }) name!: string;
  @EmailField({ example: 'owner@example.com' }) adminEmail!: string;
  @TextField({ ...passwordLength, example: 'correct horse battery' }) adminPassword!: string;
}

export class CreatedOrganization {
  @ObjectField(() => Organization) organization!: Organization;
  @ObjectField(() => IdentityUser) admin!: IdentityUser;
}

export class UpdateOrganizationBody {
  @TextField({ optional: true, visible: true, example: 'Southside Dental Group' }) name?: string;
  @BooleanField({ optional: true, example: false }) suspended?: boolean;
  @TextListField({
    optional: true,
    max: 253,
    example: ['southside.example'],
    description:
      'Email domains that are proved from now on; other domains of the organization lose their proof. A domain that ' +
      'another organization has proved is a conflict.',
  })
  domains?: string[];
}
