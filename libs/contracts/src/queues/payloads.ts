import { UuidField } from '../http/fields';

export class ProbePayload {
  @UuidField() probeId!: string;
}
