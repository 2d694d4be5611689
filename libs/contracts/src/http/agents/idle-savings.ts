import { EnumField, NumberField, ObjectField } from '../fields';
import { type IdleStopPolicy, idleStopPolicies } from '../access/settings';

class SavedTime {
  @NumberField({ example: 12.5, min: -1_000_000_000, description: 'Machine-hours.' }) hours!: number;
  @NumberField({ example: 1.5, min: -1_000_000_000, description: 'By what the machines cost for an hour.' })
  usd!: number;
}

export class IdleSavings {
  @EnumField(idleStopPolicies, { description: 'The policy of idle stop that holds now.' }) policy!: IdleStopPolicy;
  @NumberField({ example: 120.25, description: 'For how long machines had no run between two, as was seen of them.' })
  idleHours!: number;
  @NumberField({ example: 40.5, description: 'For how much of that they were on.' }) onHours!: number;
  @ObjectField(() => SavedTime, {
    description:
      'What adaptive would have saved while it was fixed that held: its decision taken again for each idle time that ' +
      'was, by what was known then; stops and boots count. Idle times are kept for 35 days.',
  })
  adaptiveWouldSave!: SavedTime;
  @ObjectField(() => SavedTime, {
    description: 'What adaptive has saved against fixed while it was adaptive that held.',
  })
  adaptiveSaved!: SavedTime;
}
