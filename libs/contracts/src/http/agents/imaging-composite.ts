import { IntListField, TextField, UrlField } from '../fields';
import { CommandStatus } from './commands';

export class ImagingCompositeBody {
  @TextField({
    max: 500,
    pattern: /\S/,
    example: 'Smith, Ann (PATIMAGEID: 1234)',
    description: 'A PATIMAGEID, a label that has one, a chart number, or a name: `Last, First` or `First Last`.',
  })
  patientLookup!: string;
  @IntListField({ minItems: 1, maxItems: 32, min: 1, max: 32, example: [3, 14], description: 'By the ADA’s numbers.' })
  teeth!: number[];
}

export class ImagingCompositeStatus extends CommandStatus {
  @UrlField({
    optional: true,
    nullable: true,
    max: 4096,
    description: 'Of a success: the PNG, for an hour; null where no URL could be signed.',
  })
  compositeUrl?: string | null;
}
