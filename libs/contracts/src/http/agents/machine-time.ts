import { DayField, IntField, ListField, NumberField, ObjectField } from '../fields';

export const maxMachineTimeDays = 92;

export class MachineTimeQuery {
  @DayField({
    optional: true,
    description: 'First day of the period, in the organization’s time zone; 29 days before `to` if absent.',
  })
  from?: string;
  @DayField({
    optional: true,
    description: `Last day of the period; today if absent. A period has at most ${maxMachineTimeDays} days.`,
  })
  to?: string;
}

class MachineHours {
  @NumberField({ example: 6.5, description: 'Hours for which the machine was on: usedHours and idleHours.' })
  onHours!: number;
  @NumberField({ example: 4.25, description: 'Hours in which a run was in progress on the machine.' })
  usedHours!: number;
  @NumberField({ example: 2.25, description: 'Hours for which the machine was on without a run.' }) idleHours!: number;
  @NumberField({ example: 17.5, description: 'Hours for which the machine was off.' }) offHours!: number;
  @NumberField({
    example: 0,
    description:
      'Hours since the agent was created for which no record exists of whether the machine was on. Idle periods are ' +
      'retained for 35 days.',
  })
  unknownHours!: number;
  @IntField({ example: 12, description: 'Number of runs that ended.' }) runs!: number;
}

export class MachineDay extends MachineHours {
  @DayField({ description: 'Day in the organization’s time zone.' }) day!: string;
  @NumberField({ example: 24, description: 'Length of the day: 23 or 25 hours if daylight saving starts or ends.' })
  hours!: number;
}

export class MachineTime {
  @DayField() from!: string;
  @DayField() to!: string;
  @ObjectField(() => MachineHours, { description: 'Sums of all days.' }) total!: MachineHours;
  @ListField(() => MachineDay, { description: 'Every day of the period, the earliest first.' }) days!: MachineDay[];
}
