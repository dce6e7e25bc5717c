/* What Palisade reads of GASPI 17.1. The functions are built in. */
#ifndef PALISADE_GASPI_H
#define PALISADE_GASPI_H

typedef char gaspi_char;
typedef unsigned char gaspi_uchar;
typedef short gaspi_short;
typedef unsigned short gaspi_ushort;
typedef int gaspi_int;
typedef unsigned int gaspi_uint;
typedef long gaspi_long;
typedef unsigned long gaspi_ulong;
typedef float gaspi_float;
typedef double gaspi_double;

typedef unsigned long gaspi_timeout_t;
typedef unsigned short gaspi_rank_t;
typedef unsigned char gaspi_group_t;
typedef unsigned int gaspi_number_t;
typedef void *gaspi_pointer_t;
typedef unsigned char gaspi_queue_id_t;
typedef unsigned long gaspi_size_t;
typedef unsigned char gaspi_segment_id_t;
typedef unsigned long gaspi_offset_t;
typedef unsigned long gaspi_atomic_value_t;
typedef float gaspi_time_t;
typedef unsigned long gaspi_cycles_t;
typedef unsigned int gaspi_notification_id_t;
typedef unsigned int gaspi_notification_t;
typedef int gaspi_memory_description_t;
typedef char *gaspi_string_t;

#define GASPI_GROUP_ALL ((gaspi_group_t)0)
#define GASPI_BLOCK (~(gaspi_timeout_t)0)
#define GASPI_TEST ((gaspi_timeout_t)0)

typedef enum {
  GASPI_ERROR = -1,
  GASPI_SUCCESS = 0,
  GASPI_TIMEOUT = 1,
  GASPI_QUEUE_FULL = 23
} gaspi_return_t;
typedef enum { GASPI_OP_MIN, GASPI_OP_MAX, GASPI_OP_SUM } gaspi_operation_t;
typedef enum {
  GASPI_TYPE_INT,
  GASPI_TYPE_UINT,
  GASPI_TYPE_FLOAT,
  GASPI_TYPE_DOUBLE,
  GASPI_TYPE_LONG,
  GASPI_TYPE_ULONG
} gaspi_datatype_t;
typedef enum {
  GASPI_MEM_UNINITIALIZED = 0,
  GASPI_MEM_INITIALIZED = 1,
  GASPI_ALLOC_DEFAULT = 0
} gaspi_alloc_t;

gaspi_return_t gaspi_proc_init(gaspi_timeout_t timeout);
gaspi_return_t gaspi_proc_term(gaspi_timeout_t timeout);
gaspi_return_t gaspi_proc_rank(gaspi_rank_t *rank);
gaspi_return_t gaspi_proc_num(gaspi_rank_t *ranks);
gaspi_return_t gaspi_barrier(gaspi_group_t group, gaspi_timeout_t timeout);
gaspi_return_t gaspi_allreduce(void *send, void *receive, gaspi_number_t num,
                               gaspi_operation_t operation, gaspi_datatype_t datatype,
                               gaspi_group_t group, gaspi_timeout_t timeout);

gaspi_return_t gaspi_segment_alloc(gaspi_segment_id_t segment, gaspi_size_t size,
                                   gaspi_alloc_t policy);
gaspi_return_t gaspi_segment_register(gaspi_segment_id_t segment, gaspi_rank_t rank,
                                      gaspi_timeout_t timeout);
gaspi_return_t gaspi_segment_create(gaspi_segment_id_t segment, gaspi_size_t size,
                                    gaspi_group_t group, gaspi_timeout_t timeout,
                                    gaspi_alloc_t policy);
gaspi_return_t gaspi_segment_bind(gaspi_segment_id_t segment, gaspi_pointer_t memory,
                                  gaspi_size_t size, gaspi_memory_description_t description);
gaspi_return_t gaspi_segment_use(gaspi_segment_id_t segment, gaspi_pointer_t memory,
                                 gaspi_size_t size, gaspi_group_t group, gaspi_timeout_t timeout,
                                 gaspi_memory_description_t description);
gaspi_return_t gaspi_segment_delete(gaspi_segment_id_t segment);
gaspi_return_t gaspi_segment_ptr(gaspi_segment_id_t segment, gaspi_pointer_t *pointer);
gaspi_return_t gaspi_segment_size(gaspi_segment_id_t segment, gaspi_rank_t rank,
                                  gaspi_size_t *size);

gaspi_return_t gaspi_write(gaspi_segment_id_t from, gaspi_offset_t from_offset, gaspi_rank_t rank,
                           gaspi_segment_id_t to, gaspi_offset_t to_offset, gaspi_size_t size,
                           gaspi_queue_id_t queue, gaspi_timeout_t timeout);
gaspi_return_t gaspi_read(gaspi_segment_id_t to, gaspi_offset_t to_offset, gaspi_rank_t rank,
                          gaspi_segment_id_t from, gaspi_offset_t from_offset, gaspi_size_t size,
                          gaspi_queue_id_t queue, gaspi_timeout_t timeout);
gaspi_return_t gaspi_write_notify(gaspi_segment_id_t from, gaspi_offset_t from_offset,
                                  gaspi_rank_t rank, gaspi_segment_id_t to,
                                  gaspi_offset_t to_offset, gaspi_size_t size,
                                  gaspi_notification_id_t id, gaspi_notification_t value,
                                  gaspi_queue_id_t queue, gaspi_timeout_t timeout);
gaspi_return_t gaspi_read_notify(gaspi_segment_id_t to, gaspi_offset_t to_offset,
                                 gaspi_rank_t rank, gaspi_segment_id_t from,
                                 gaspi_offset_t from_offset, gaspi_size_t size,
                                 gaspi_notification_id_t id, gaspi_queue_id_t queue,
                                 gaspi_timeout_t timeout);
gaspi_return_t gaspi_write_list(gaspi_number_t num, gaspi_segment_id_t *from,
                                gaspi_offset_t *from_offset, gaspi_rank_t rank,
                                gaspi_segment_id_t *to, gaspi_offset_t *to_offset,
                                gaspi_size_t *size, gaspi_queue_id_t queue,
                                gaspi_timeout_t timeout);
gaspi_return_t gaspi_read_list(gaspi_number_t num, gaspi_segment_id_t *to,
                               gaspi_offset_t *to_offset, gaspi_rank_t rank,
                               gaspi_segment_id_t *from, gaspi_offset_t *from_offset,
                               gaspi_size_t *size, gaspi_queue_id_t queue, gaspi_timeout_t timeout);
gaspi_return_t gaspi_write_list_notify(gaspi_number_t num, gaspi_segment_id_t *from,
                                       gaspi_offset_t *from_offset, gaspi_rank_t rank,
                                       gaspi_segment_id_t *to, gaspi_offset_t *to_offset,
                                       gaspi_size_t *size, gaspi_segment_id_t notified,
                                       gaspi_notification_id_t id, gaspi_notification_t value,
                                       gaspi_queue_id_t queue, gaspi_timeout_t timeout);
gaspi_return_t gaspi_read_list_notify(gaspi_number_t num, gaspi_segment_id_t *to,
                                      gaspi_offset_t *to_offset, gaspi_rank_t rank,
                                      gaspi_segment_id_t *from, gaspi_offset_t *from_offset,
                                      gaspi_size_t *size, gaspi_segment_id_t notified,
                                      gaspi_notification_id_t id, gaspi_queue_id_t queue,
                                      gaspi_timeout_t timeout);
gaspi_return_t gaspi_wait(gaspi_queue_id_t queue, gaspi_timeout_t timeout);
gaspi_return_t gaspi_queue_create(gaspi_queue_id_t *queue, gaspi_timeout_t timeout);
gaspi_return_t gaspi_queue_delete(gaspi_queue_id_t queue);

gaspi_return_t gaspi_notify(gaspi_segment_id_t segment, gaspi_rank_t rank,
                            gaspi_notification_id_t id, gaspi_notification_t value,
                            gaspi_queue_id_t queue, gaspi_timeout_t timeout);
gaspi_return_t gaspi_notify_waitsome(gaspi_segment_id_t segment, gaspi_notification_id_t begin,
                                     gaspi_number_t num, gaspi_notification_id_t *first,
                                     gaspi_timeout_t timeout);
gaspi_return_t gaspi_notify_reset(gaspi_segment_id_t segment, gaspi_notification_id_t id,
                                  gaspi_notification_t *old);

gaspi_return_t gaspi_atomic_fetch_add(gaspi_segment_id_t segment, gaspi_offset_t offset,
                                      gaspi_rank_t rank, gaspi_atomic_value_t value,
                                      gaspi_atomic_value_t *old, gaspi_timeout_t timeout);
gaspi_return_t gaspi_atomic_compare_swap(gaspi_segment_id_t segment, gaspi_offset_t offset,
                                         gaspi_rank_t rank, gaspi_atomic_value_t expected,
                                         gaspi_atomic_value_t value, gaspi_atomic_value_t *old,
                                         gaspi_timeout_t timeout);
gaspi_return_t gaspi_passive_send(gaspi_segment_id_t segment, gaspi_offset_t offset,
                                  gaspi_rank_t rank, gaspi_size_t size, gaspi_timeout_t timeout);
gaspi_return_t gaspi_passive_receive(gaspi_segment_id_t segment, gaspi_offset_t offset,
                                     gaspi_rank_t *from, gaspi_size_t size,
                                     gaspi_timeout_t timeout);

gaspi_return_t gaspi_queue_size(gaspi_queue_id_t queue, gaspi_number_t *size);
gaspi_return_t gaspi_queue_size_max(gaspi_number_t *size);
gaspi_return_t gaspi_queue_num(gaspi_number_t *num);
gaspi_return_t gaspi_queue_max(gaspi_number_t *num);
gaspi_return_t gaspi_segment_max(gaspi_number_t *num);
gaspi_return_t gaspi_notification_num(gaspi_number_t *num);
gaspi_return_t gaspi_time_get(gaspi_time_t *time);
void gaspi_printf(const char *format, ...);
gaspi_string_t gaspi_error_str(gaspi_return_t code);
#endif
