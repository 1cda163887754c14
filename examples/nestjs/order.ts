import { Column, Entity, PrimaryColumn } from 'typeorm'

@Entity('shop_order')
export class Order {
  @PrimaryColumn('int')
  id!: number

  @Column('text')
  status!: 'open' | 'paid' | 'closed'
}
